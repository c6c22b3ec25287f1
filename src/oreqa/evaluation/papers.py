"""Figures that papers report, to be shown beside ours on the same candidates."""

from __future__ import annotations

QUESTIONS = 10539
"""Questions of both tasks; a run on fewer, drawn or held out, is another task."""

# ReQA SQuAD dev, 10,250 candidates: ENDX (Table 2), R@N in percent.
_REQA_SQUAD = (
    ("BM25 (ENDX paper)", {"mrr": 52.96, "r@1": 45.81, "r@5": 61.31}),
    ("InferSent", {"mrr": 36.90, "r@1": 27.91, "r@5": 46.92}),
    ("USE-QA", {"mrr": 61.23, "r@1": 53.16, "r@5": 69.93}),
    ("Dual-VAEs", {"mrr": 61.48, "r@1": 55.01, "r@5": 68.49}),
    ("Cross-VAEs", {"mrr": 62.29, "r@1": 55.60, "r@5": 70.05}),
    ("Dual-BERT", {"mrr": 71.06, "r@1": 61.24, "r@5": 83.09}),
    ("ENDX-BERT", {"mrr": 73.43, "r@1": 63.94, "r@5": 85.18}),
)
# MultiReQA SQuAD dev, 10,642 candidates: cross-attention supervised augmentation (arXiv 2009.13815, Tables 3 and 4).
_MULTIREQA_SQUAD = (
    ("BM25 (augmentation paper)", {"mrr@100": 70.5, "p@1": 62.8}),
    ("USE-QA", {"mrr@100": 62.1, "p@1": 51.0}),
    ("USE-QA fine-tuned", {"mrr@100": 75.9, "p@1": 66.8}),
    ("Dual encoder", {"mrr@100": 72.8, "p@1": 62.8, "p@5": 85.4, "p@10": 91.0}),
    ("Dual encoder, augmented", {"mrr@100": 73.7, "p@1": 63.8, "p@5": 86.1, "p@10": 91.6}),
)
# SHA-256, as provenance.data_hash computes it, of SQuAD's dev-v1.1.json with the candidates' boundaries.
_TASKS = {
    "8124914ec97487b88624f2a5ebc60523609cac3b4946a5038adf44f1e94457fa": _REQA_SQUAD,  # both files gzipped
    "fc1eaf1eceb8aae9f53cfcf54de1b697bf482ae53e942dca8dcb4468a93bb878": _REQA_SQUAD,  # both unpacked
    "e4697b12e0c6fec694ed9c0fb370e8edce7ac50c1da4695b47632c5cee6e596c": _MULTIREQA_SQUAD,
    "7102333918242a2ba75a2a10886eac53a89eae4409aa12f6104298c22136f46c": _MULTIREQA_SQUAD,
}


def published_rows(data_sha256: str, questions: int) -> tuple[tuple[str, dict[str, float]], ...]:
    """Published rows for the data of this hash, asked all its questions; none for a task that no paper reports."""
    return _TASKS.get(data_sha256, ()) if questions == QUESTIONS else ()
