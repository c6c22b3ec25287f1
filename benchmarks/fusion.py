"""Measure how the four scores of a sentence are best added up, and write docs/results/fusion.md's numbers.

Run:  python benchmarks/fusion.py --data ../shared/data --work runs/fusion

The weights are fitted on questions of other sets than SQuAD dev, each set weighing the same: maximum likelihood of the gold
sentences in a softmax over the pooled best 100 sentences of every score (ListNet's top-one loss).
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from common import write_result
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from oreqa.datasets.reqa import build_reqa, load_paragraphs
from oreqa.index.fusion import Weights
from oreqa.index.passages import index_passages

SETS = {
    "squad-train-pieces": 1500,
    "qed-nq-train": 1500,
    "afriqa-en": 1500,
    "fairytaleqa": 1000,
    "covidqa-passages": 1000,
    "timeqa-human": 1000,
    "policyqa": 661,
}
Floats = NDArray[np.float64]

Pool = dict[str, NDArray[Any]]
"""Rows of candidates: the four scores ``x``, ``gold``, and the numbers of ``question`` and ``passage``."""

PARTS = ("sentence_cosine", "passage_cosine", "sentence_bm25", "passage_bm25")
ALONE = (Weights(1, 0, 0, 0), Weights(0, 1, 0, 0), Weights(0, 0, 1, 0), Weights(0, 0, 0, 1))
"""Weights that leave one of the parts alone."""


def pools(data: Path, work: Path, name: str, count: int, titles: bool) -> Pool:
    """Scores of pooled candidates: ``x`` [rows, 4], gold flags, question and passage of each row."""
    saved = work / f"{name}{'' if titles else '-untitled'}.npz"
    if saved.is_file():
        return dict(np.load(saved))
    paragraphs = load_paragraphs(data / "extractive" / f"{name}.json.gz")
    task = build_reqa(paragraphs)
    passages = task.passages
    # Placeholder titles tell nothing.
    keep = titles and not name.startswith(("covidqa", "policyqa"))
    passages = tuple(replace(p, title=p.title if keep and not p.title.startswith("sq-") else "") for p in passages)
    index = index_passages(work / saved.stem, passages)
    chosen = sorted(random.Random(0).sample(range(len(task.questions)), min(count, len(task.questions))))
    owner = np.array([number for number, p in enumerate(passages) for _ in p.sentences])
    x, gold, question, passage = [], [], [], []
    questions = [task.questions[i] for i in chosen]
    scored = zip(*(index.score_all(questions, weights) for weights in ALONE), strict=True)
    for number, (i, parts) in enumerate(zip(chosen, scored, strict=True)):
        columns = np.stack(parts, axis=1)
        rows = {*task.gold[i]}
        for column in (*columns.T, columns @ np.array([1, 0.5, 0.02, 0.03])):
            rows.update(np.argpartition(-column, 100)[:100].tolist())
        pooled = np.array(sorted(rows))
        x.append(columns[pooled])
        gold.append(np.isin(pooled, task.gold[i]))
        question.append(np.full(len(pooled), number))
        passage.append(owner[pooled])
    result = {
        "x": np.concatenate(x).astype(np.float32),
        "gold": np.concatenate(gold),
        "question": np.concatenate(question),
        "passage": np.concatenate(passage),
    }
    np.savez(saved, allow_pickle=False, **result)
    return result


def by_passage(pool: Pool) -> Pool:
    """The same pool with the gold of passages: every sentence of a gold passage is gold."""
    keys = pool["question"].astype(np.int64) << 32 | pool["passage"]
    return {**pool, "gold": np.isin(keys, np.unique(keys[pool["gold"]]))}


def fit(found: list[Pool], used: list[int]) -> Floats:
    """Weights that maximise the mean log-likelihood of the gold, every set weighing the same."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = 0.0, np.zeros_like(weights)
        for pool in found:
            x = pool["x"][:, used].astype(np.float64)
            starts = np.flatnonzero(np.r_[True, np.diff(pool["question"]) > 0])
            score = x @ weights
            score -= np.maximum.reduceat(score, starts)[pool["question"]]
            e = np.exp(score)
            total = np.add.reduceat(e, starts)
            right = np.maximum(np.add.reduceat(e * pool["gold"], starts), 1e-300)
            value += float(np.mean(np.log(total) - np.log(right)))
            push = e / total[pool["question"]] - e * pool["gold"] / right[pool["question"]]
            slope += x.T @ push / len(starts)
        return value / len(found), slope / len(found)

    fitted: Floats = minimize(loss, np.array([10, 5, 0.4, 0.5])[used], jac=True, method="L-BFGS-B").x
    return fitted


def metrics(pool: Pool, weights: Floats, unit: str) -> tuple[float, float, float]:
    """MRR, hit rate at 1 and at 5, in percent, with tied ranks averaged."""
    score = pool["x"] @ weights
    starts = [*np.flatnonzero(np.r_[True, np.diff(pool["question"]) > 0]), len(score)]
    ranks = []
    for begin, end in pairwise(starts):
        s, gold, passage = score[begin:end], pool["gold"][begin:end], pool["passage"][begin:end]
        if unit == "passage":
            _, owner = np.unique(passage, return_inverse=True)
            best = np.full(owner.max() + 1, -np.inf)
            np.maximum.at(best, owner, s)
            right = np.zeros(len(best), bool)
            right[owner[gold]] = True
            s, gold = best, right
        ranks.append(rankdata(-s)[gold].min())
    r = np.array(ranks)
    mrr, first, fifth = (round(100 * float(v), 2) for v in (np.mean(1 / r), np.mean(r <= 1), np.mean(r <= 5)))
    return mrr, first, fifth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/fusion"))
    parser.add_argument("--untitled", action="store_true", help="leave titles out of what the models read")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {name: pools(options.data, options.work, name, count, not options.untitled) for name, count in SETS.items()}
    report: dict[str, Any] = {}
    for unit in ("sentence", "passage"):
        pooled = {name: by_passage(pool) if unit == "passage" else pool for name, pool in found.items()}
        for mode, used in (("hybrid", [0, 1, 2, 3]), ("dense", [0, 1]), ("sparse", [2, 3])):
            weights = np.zeros(4)
            weights[used] = fit(list(pooled.values()), used)
            # Left-one-out: weights fitted on the other sets, measured on the one left out.
            apart = {}
            for name in pooled:
                w = np.zeros(4)
                w[used] = fit([p for other, p in pooled.items() if other != name], used)
                apart[name] = metrics(pooled[name], w, unit)
            scale = weights[used[0]] if unit == "sentence" else weights[used[-2 if mode != "sparse" else -1]]
            print(f"{unit:9}{mode:7}", np.round(weights, 3), "relative", np.round(weights / scale, 4))
            for name, row in apart.items():
                print(f"    {name:22}", *row)
            mean = [round(float(value), 2) for value in np.mean(list(apart.values()), axis=0)]
            print("    mean", *mean, flush=True)
            report[f"{unit}/{mode}"] = {
                "weights": dict(zip(PARTS, weights.tolist(), strict=True)),
                "left_out": apart,
                "mean": mean,
            }
    if options.out:
        write_result(options.out, report)
    print(json.dumps({"sets": SETS}))


if __name__ == "__main__":
    main()
