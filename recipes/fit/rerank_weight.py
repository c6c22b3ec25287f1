"""Choose the weight of the classifier relative to the retriever's score, on questions about held-out articles.

Run:  python recipes/fit/rerank_weight.py --data ../shared/data --work runs/rerank_weight --classifier minilm-classifier

SQuAD dev is not used. The collection of each set is its held-out articles, whose sentences are ranked. For MedQuAD's
split, dev documents are ranked by their best passage, as in ``oreqa eval beir``: the gold ones and those with the same
titles.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answering.reranking import hit_candidate, rerank_scores
from oreqa.core import Hit
from oreqa.datasets.beir import Beir, load_beir
from oreqa.datasets.load import load_task
from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.reqa import draw_questions
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER
from oreqa.evaluation.metrics import gold_ranks
from oreqa.index.passages import index_corpus, index_passages, sentence_rows
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from common import report

SETS = ("squad-train-pieces", "qed-nq-train", "afriqa-en")
DOCUMENTS, SPLIT = "medquad", "dev"
WEIGHTS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 10.0)
DEPTHS = (10, 20, 50)
PASSAGES = 100
"""Passages by which documents are ranked."""


def percent(ranks: Sequence[float]) -> float:
    """Return the mean reciprocal rank in percent."""
    return round(100 * float(np.mean(1 / np.array(ranks))), 2)


def sentence_ranks(file: Path, work: Path, count: int, classifier: CrossEncoder) -> dict[str, Any]:
    """Return the MRR of sentences by depth and weight."""
    task = load_task(file, held_out=True)
    index = index_passages(work, task.passages)
    task = draw_questions(task, count, 0)
    candidates = task_candidates(task)
    rows = sentence_rows(index, task.passages)
    scores = [question_scores[rows] for question_scores in index.score_all(task.questions)]
    best = [np.argsort(-question_scores, kind="stable")[: max(DEPTHS)] for question_scores in scores]
    logits = classifier.score(task.questions, [[candidates[place] for place in places] for places in best])
    table = {}
    for depth in DEPTHS:
        for weight in WEIGHTS:
            again = [
                rerank_scores(question_scores, places[:depth], best_logits[:depth], weight)
                for question_scores, places, best_logits in zip(scores, best, logits, strict=True)
            ]
            ranks = [gold_ranks(question_scores, gold)[0] for question_scores, gold in zip(again, task.gold, strict=True)]
            table[f"{depth}, {weight}"] = percent(ranks)
    return {"candidates": len(candidates), "mrr by depth and weight": table}


def small_task(task: Beir) -> Beir:
    """Return the task with the gold documents and those that share a title with one."""
    gold = {document for grades in task.qrels.values() for document, grade in grades.items() if grade > 0}
    titles = {entry.title for entry in task.corpus if entry.id in gold and entry.title}
    return replace(task, corpus=tuple(entry for entry in task.corpus if entry.id in gold or entry.title in titles))


def document_rank(hits: Sequence[Hit], scores: Any, gold: set[str]) -> float:
    """Return the rank of the best gold document; documents are ordered by their best passages."""
    documents = dict.fromkeys(hits[place].passage.document_key for place in np.argsort(-scores, kind="stable"))
    return next((rank for rank, document in enumerate(documents, 1) if document in gold), np.inf)


def document_ranks(folder: Path, work: Path, count: int, classifier: CrossEncoder) -> dict[str, Any]:
    """Return the MRR of documents by depth and weight."""
    task = small_task(load_beir(folder, SPLIT))
    index = index_corpus(work, task.corpus, Settings(model=DEFAULT_ENCODER))
    golds = {name: {d for d, grade in grades.items() if grade > 0} for name, grades in task.qrels.items()}
    names = [name for name in task.queries if golds[name]]
    names = random.Random(0).sample(names, min(count, len(names)))
    questions = [task.queries[name] for name in names]
    hits = index.search(questions, PASSAGES, mode="hybrid", unit="passage")
    scores = [np.array([hit.score for hit in question_hits]) for question_hits in hits]
    shown = [[hit_candidate(hit) for hit in question_hits[: max(DEPTHS)]] for question_hits in hits]
    logits = classifier.score(questions, shown)
    table = {}
    for depth in DEPTHS:
        for weight in WEIGHTS:
            ranks = [
                document_rank(
                    question_hits,
                    rerank_scores(before, np.arange(min(depth, len(before))), best_logits[:depth], weight),
                    golds[name],
                )
                for name, question_hits, before, best_logits in zip(names, hits, scores, logits, strict=True)
            ]
            table[f"{depth}, {weight}"] = percent(ranks)
    return {"candidates": len(task.corpus), "mrr by depth and weight": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/rerank_weight"))
    parser.add_argument("--classifier", default=DEFAULT_CLASSIFIER)
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    classifier = CrossEncoder(options.classifier)
    result: dict[str, Any] = {"questions": options.questions}
    for name in SETS:
        file = options.data / "extractive" / f"{name}.json.gz"
        result[name] = sentence_ranks(file, options.work / name, options.questions, classifier)
        print(name, result[name], flush=True)
    place = options.work / DOCUMENTS
    result[DOCUMENTS] = document_ranks(options.data / "retrieval" / DOCUMENTS, place, options.questions, classifier)
    report("augmentation/rerank_weight", result)


if __name__ == "__main__":
    main()
