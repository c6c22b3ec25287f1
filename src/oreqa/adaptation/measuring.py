"""Measures an adaptation by the passages of held-out questions and the answers to the user's own questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oreqa.adaptation.report import Compare, Gain
from oreqa.adaptation.stages import RERANKED
from oreqa.answering.reranking import reranked_hits
from oreqa.datasets.reqa import ReqaTask
from oreqa.evaluation.openqa import evaluate_openqa
from oreqa.evaluation.runs import load_run
from oreqa.files import remove
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.progress import Progress, show
from oreqa.provenance import data_hash

METRICS = ("em", "f1", "acc@1", "acc@5")
"""Metrics of the user's questions, whose answers are short: exact match, F1, and retrieval accuracy."""

RANKED, SEARCHED_TOGETHER = 100, 64
"""Passages ranked for a held-out question, and questions searched together."""


def answer_questions(questions: Path, index: Path, out: Path, seed: int, device: str, progress: Progress) -> None:
    """Answer the user's questions from an index, unless already answered."""
    if (out / "metrics.json").is_file() and load_run(out).summary["data_sha256"] != data_hash([questions]):
        remove(out)
    if not (out / "metrics.json").is_file():
        evaluate_openqa(questions, out, index=index, seed=seed, device=device, progress=progress)


def user_gains(before: Path, after: Path, compare: Compare) -> dict[str, Gain]:
    """Return the gain of the user's questions from run ``before`` to run ``after`` in each of ``METRICS`` that both have."""
    first, second = (list(load_run(run).questions.values()) for run in (before, after))
    return {
        metric: compare([row[metric] for row in first], [row[metric] for row in second])
        for metric in METRICS
        if all(metric in row for row in (*first, *second))
    }


def classifier_gains(
    task: ReqaTask,
    index: Index,
    classifiers: tuple[str | Path, str | Path],
    plain: Sequence[float],
    compare: Compare,
    device: str,
    progress: Progress,
) -> dict[str, Gain]:
    """Return the gain of re-ranking by the second classifier over no re-ranking and over the first classifier.

    ``plain`` are the reciprocal ranks without re-ranking.
    """
    before, after = (
        reciprocal_ranks(task, index, f"measuring the classifier {when}", progress, CrossEncoder(name, device=device))
        for when, name in zip(("before", "after"), classifiers, strict=True)
    )
    return {
        "no re-ranking": compare(plain, after),
        "the classifier before": compare(before, after),
    }


def reciprocal_ranks(
    task: ReqaTask, index: Index, name: str, progress: Progress, classifier: CrossEncoder | None = None
) -> list[float]:
    """Return each question's reciprocal rank of the first passage with an answer, by hybrid search; 0 beyond ``RANKED``.

    A ``classifier`` re-ranks the first ``RERANKED``.
    """
    owners = [passage for passage in task.passages for _ in passage.sentences]
    ranks = []
    with show(progress, name, len(task.questions)) as advance:
        for begin in range(0, len(task.questions), SEARCHED_TOGETHER):
            batch = task.questions[begin : begin + SEARCHED_TOGETHER]
            searched = index.search(batch, RANKED, mode="hybrid", unit="passage")
            if classifier is not None:
                searched = reranked_hits(classifier, batch, searched, RERANKED)
            for golds, hits in zip(task.gold[begin:], searched, strict=False):
                right = {(owners[gold].document_key, owners[gold].start) for gold in golds}
                ranked = [(hit.passage.document_key, hit.passage.start) in right for hit in hits]
                ranks.append(1 / (1 + ranked.index(True)) if any(ranked) else 0.0)
            advance(len(batch))
    return ranks
