"""The retrieval tasks: sentences (ReQA, MultiReQA) and documents (BEIR)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from oreqa.core import Mode
from oreqa.datasets.beir import Beir
from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.reqa import ReqaTask
from oreqa.evaluation.metrics import gold_ranks, question_metrics
from oreqa.evaluation.runs import QuestionResult
from oreqa.index.fusion import SENTENCE_WEIGHTS
from oreqa.index.passages import sentence_rows
from oreqa.index.scoring import Scores, best_sentences
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.cross_encoder.reranking import rerank_hits, rerank_scores
from oreqa.models.reader.reader import CHUNK

Progress = Callable[[int], None]

KEPT = 100
"""Candidates that a run keeps of every question."""


def evaluate_reqa(
    task: ReqaTask,
    index: Index,
    mode: Mode,
    progress: Progress | None = None,
    classifier: CrossEncoder | None = None,
    depth: int = 0,
) -> list[QuestionResult]:
    """Rank every candidate sentence for every question. ``index`` holds the task's passages (index_passages).

    The ``classifier`` re-ranks the ``depth`` best. Raises InputError for an index of other passages.
    """
    rows = sentence_rows(index, task.passages)
    texts = [sentence.text for passage in task.passages for sentence in passage.sentences]
    results = []
    scored: Iterator[Scores] = (scores[rows] for scores in index.score_all(task.questions, SENTENCE_WEIGHTS.only(mode)))
    if classifier is not None and depth:
        scored = _reranked(task, scored, classifier, depth)
    for number, (question, gold, scores) in enumerate(zip(task.questions, task.gold, scored, strict=True)):
        ranks = gold_ranks(scores, gold)
        best = np.argpartition(-scores, min(KEPT, len(scores) - 1))[:KEPT]
        best = best[np.argsort(-scores[best], kind="stable")]
        results.append(
            QuestionResult(
                str(number), question, question_metrics(ranks), ranks, [str(g) for g in gold],
                [(str(i), float(scores[i])) for i in best], {str(i): texts[i] for i in best[:3]},
            )
        )  # fmt: skip
        if progress:
            progress(1)
    return results


def _reranked(task: ReqaTask, scored: Iterator[Scores], classifier: CrossEncoder, depth: int) -> Iterator[Scores]:
    candidates = task_candidates(task)
    for questions in _batches(task.questions, CHUNK):
        scores = list(islice(scored, len(questions)))
        best = [best_sentences(own, depth) for own in scores]
        logits = classifier.score(questions, [[candidates[place] for place in places] for places in best])
        for own, places, found in zip(scores, best, logits, strict=True):
            yield rerank_scores(own, places, found)


def evaluate_beir(
    task: Beir,
    index: Index,
    mode: Mode,
    progress: Progress | None = None,
    classifier: CrossEncoder | None = None,
    depth: int = 0,
) -> list[QuestionResult]:
    """Rank documents by their best passage. Grades above 0 are gold; nDCG@10 uses the grades.

    The ``classifier`` re-ranks the ``depth`` best passages, each by its best sentence.
    """
    from ir_measures import ScoredDoc, iter_calc, nDCG

    results = []
    names = list(task.queries)
    titles = {entry.id: entry.title or entry.text[:80] for entry in task.corpus}
    for batch in _batches(names, 256):
        found = index.search([task.queries[name] for name in batch], 3 * KEPT, mode, "passage")
        if classifier is not None and depth:
            found = rerank_hits(classifier, [task.queries[name] for name in batch], found, depth)
        for name, hits in zip(batch, found, strict=True):
            scores: dict[str, float] = {}
            for hit in hits:
                scores.setdefault(hit.passage.document_key, hit.score)
            gold = [document for document, grade in task.qrels[name].items() if grade > 0]
            if not gold:
                continue
            values = np.array(list(scores.values()))
            places = {document: place for place, document in enumerate(scores)}
            ranks = sorted(
                gold_ranks(values, [places[document]])[0] if document in places else math.inf for document in gold
            )
            row = question_metrics(ranks)
            run = [ScoredDoc(name, document, score) for document, score in scores.items()]
            row["ndcg@10"] = float(next(iter_calc([nDCG @ 10], {name: dict(task.qrels[name])}, run)).value) if run else 0.0
            top = list(scores.items())[:KEPT]
            results.append(
                QuestionResult(name, task.queries[name], row, ranks, gold, top, {d: titles[d] for d, _ in top[:3]})
            )
        if progress:
            progress(len(batch))
    return results


def _batches(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[begin : begin + size] for begin in range(0, len(items), size)]
