"""Figures that papers report, to be shown beside ours on the same candidates."""

from __future__ import annotations

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


def published_rows(candidates: int, questions: int) -> tuple[tuple[str, dict[str, float]], ...]:
    """Published rows for the task of this size; none for a task that no paper reports."""
    return {(10250, 10539): _REQA_SQUAD, (10642, 10539): _MULTIREQA_SQUAD}.get((candidates, questions), ())
