"""Choose the weight of the classifier against the retriever's score, on questions about held-out articles.

Run:  python benchmarks/rerank_weight.py --data ../shared/data --work runs/rerank_weight --classifier minilm-classifier

SQuAD dev takes no part. The collection of each set is its held-out articles.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from common import report

from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.tasks import draw_questions, load_task
from oreqa.defaults import DEFAULT_CLASSIFIER
from oreqa.evaluation.metrics import gold_ranks
from oreqa.index.passages import index_passages
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.cross_encoder.reranking import rerank_scores

SETS = ("squad-train-pieces", "qed-nq-train", "afriqa-en")
WEIGHTS = (0.0, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 10.0)
DEPTHS = (10, 20, 50)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/rerank_weight"))
    parser.add_argument("--classifier", default=DEFAULT_CLASSIFIER)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    classifier = CrossEncoder.load(options.classifier, options.device)
    result: dict[str, Any] = {"questions": options.questions}
    for name in SETS:
        task = load_task(options.data / "extractive" / f"{name}.json.gz", held_out=True)
        index = index_passages(options.work / name, task.passages, device=options.device)
        task = draw_questions(task, options.questions, 0)
        candidates = task_candidates(task)
        scores = list(index.score_all(task.questions))
        best = [np.argsort(-own, kind="stable")[: max(DEPTHS)] for own in scores]
        logits = classifier.score(task.questions, [[candidates[place] for place in places] for places in best])
        table = {}
        for depth in DEPTHS:
            for weight in WEIGHTS:
                again = [
                    rerank_scores(own, places[:depth], found[:depth], weight)
                    for own, places, found in zip(scores, best, logits, strict=True)
                ]
                ranks = [gold_ranks(own, gold)[0] for own, gold in zip(again, task.gold, strict=True)]
                table[f"{depth}, {weight}"] = round(100 * float(np.mean(1 / np.array(ranks))), 2)
        result[name] = {"candidates": len(candidates), "mrr by depth and weight": table}
        print(name, table, flush=True)
    report("rerank_weight", result)


if __name__ == "__main__":
    main()
