"""Ranks candidates for every question of a task: sentences (ReQA, MultiReQA) and documents (BEIR)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from oreqa.answering.reranking import rerank_scores, rerank_weight, reranked_hits
from oreqa.arrays import Floats
from oreqa.core import Mode
from oreqa.datasets.beir import Beir
from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.reqa import ReqaTask
from oreqa.evaluation.metrics import gold_ranks, question_metrics
from oreqa.evaluation.runs import QuestionResult
from oreqa.index.best import best_sentences
from oreqa.index.passages import sentence_rows
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import CHUNK
from oreqa.progress import Advance, ignore

TOP_K = 100
"""Candidates that a run keeps per question."""

_BATCH = 256
"""Questions searched together."""


def rank_sentences(
    task: ReqaTask,
    index: Index,
    mode: Mode,
    advance: Advance = ignore,
    classifier: CrossEncoder | None = None,
    depth: int = 0,
) -> list[QuestionResult]:
    """Rank every candidate sentence for every question. ``index`` holds the task's passages (index_passages).

    The ``classifier`` re-ranks the ``depth`` best. Raises InputError for an index of other passages.
    """
    rows = sentence_rows(index, task.passages)
    texts = [sentence.text for passage in task.passages for sentence in passage.sentences]
    all_scores: Iterator[Floats] = (scores[rows] for scores in index.score_all(task.questions, mode))
    if classifier is not None and depth:
        all_scores = _reranked(task, all_scores, classifier, depth)
    results = []
    for number, (question, gold, scores) in enumerate(zip(task.questions, task.gold, all_scores, strict=True)):
        ranks = gold_ranks(scores, gold)
        best = best_sentences(scores, TOP_K)
        results.append(
            QuestionResult(
                id=str(number),
                question=question,
                metrics=question_metrics(ranks),
                ranks=ranks,
                gold=[str(place) for place in gold],
                top=[(str(place), float(scores[place])) for place in best],
                texts=[texts[place] for place in best[:3]],
            )
        )
        advance(1)
    return results


def _reranked(task: ReqaTask, all_scores: Iterator[Floats], classifier: CrossEncoder, depth: int) -> Iterator[Floats]:
    candidates = task_candidates(task)
    for questions in _batches(task.questions, CHUNK):
        batch_scores = list(islice(all_scores, len(questions)))
        best = [best_sentences(scores, depth) for scores in batch_scores]
        batch_logits = classifier.score(questions, [[candidates[place] for place in places] for places in best])
        for scores, places, logits in zip(batch_scores, best, batch_logits, strict=True):
            yield rerank_scores(scores, places, logits, rerank_weight(classifier))


def rank_documents(
    task: Beir,
    index: Index,
    mode: Mode,
    advance: Advance = ignore,
    classifier: CrossEncoder | None = None,
    depth: int = 0,
) -> list[QuestionResult]:
    """Rank documents by their best passage. Grades above 0 are gold; nDCG@10 uses the grades.

    The ``classifier`` re-ranks the ``depth`` best passages, each by its best sentence.
    """
    results = []
    titles = {entry.id: entry.title or entry.text[:80] for entry in task.corpus}
    for names in _batches(list(task.queries), _BATCH):
        questions = [task.queries[name] for name in names]
        hits_by_question = index.search(questions, 3 * TOP_K, mode=mode, unit="passage")
        if classifier is not None and depth:
            hits_by_question = reranked_hits(classifier, questions, hits_by_question, depth)
        for name, hits in zip(names, hits_by_question, strict=True):
            scores: dict[str, float] = {}
            for hit in hits:
                scores.setdefault(hit.passage.document_key, hit.score)
            if any(grade > 0 for grade in task.qrels[name].values()):
                results.append(_document_result(task, name, scores, titles))
        advance(len(names))
    return results


def _document_result(task: Beir, name: str, scores: dict[str, float], titles: dict[str, str]) -> QuestionResult:
    """Return one question's outcome from the ``scores`` of the retrieved documents, best first."""
    from ir_measures import ScoredDoc, iter_calc, nDCG

    grades = task.qrels[name]
    gold = [document for document, grade in grades.items() if grade > 0]
    values = np.array(list(scores.values()))
    places = {document: place for place, document in enumerate(scores)}
    ranks = sorted(gold_ranks(values, [places[document]])[0] if document in places else math.inf for document in gold)
    run = [ScoredDoc(name, document, score) for document, score in scores.items()]
    ndcg = float(next(iter_calc([nDCG @ 10], {name: dict(grades)}, run)).value) if run else 0.0
    top = list(scores.items())[:TOP_K]
    return QuestionResult(
        id=name,
        question=task.queries[name],
        metrics={**question_metrics(ranks), "ndcg@10": ndcg},
        ranks=ranks,
        gold=gold,
        top=top,
        texts=[titles[document] for document, _ in top[:3]],
    )


def _batches(items: Sequence[str], size: int) -> list[Sequence[str]]:
    return [items[begin : begin + size] for begin in range(0, len(items), size)]
