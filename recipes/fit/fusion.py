"""Measure how to add up the retrieval scores of a sentence, and write the numbers of docs/results/fusion.md.

Run:  python recipes/fit/fusion.py --data ../shared/data --work runs/fusion
      python recipes/fit/fusion.py ... --model runs/retriever --held-out     (for an encoder trained on these sets)

The weights are fitted on questions of sets other than SQuAD dev, with equal weight for each set: maximum likelihood of
the gold sentences in a softmax over the pooled best 100 sentences of every score (ListNet's top-one loss).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arrays import Doubles
from oreqa.core import MODES, UNITS, Unit
from oreqa.datasets.load import load_paragraphs, load_task
from oreqa.datasets.reqa import build_reqa
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation.metrics import paired_difference
from oreqa.fitting.fusion import (
    NATURAL,
    Pool,
    best_ranks,
    fit_fusion,
    fit_positive_fusion,
    join_pools,
    pool_of_question,
)
from oreqa.index.passages import index_passages
from oreqa.index.scores import SCORES
from oreqa.index.scoring import mode_weights, plain_weights
from oreqa.index.store import Settings
from oreqa.models.fitted import fitted_file, write_fitted
from oreqa.models.names import find_model, model_fingerprint

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from common import TRAINED, kept_folder, write_result

SETS = {
    "squad-train-pieces": 1500,
    "qed-nq-train": 1500,
    "afriqa-en": 1500,
    "fairytaleqa": 1000,
    "covidqa-passages": 1000,
    "timeqa-human": 1000,
    "policyqa": 661,
}
NAMES = tuple(SCORES)
PLAIN = np.array([plain_weights(SCORES)[name] for name in NAMES])
ROUGH = {"sentence_cosine": 1.0, "passage_cosine": 0.5, "sentence_bm25": 0.02, "passage_bm25": 0.03}
"""A rough sum; its best sentences are pooled with those of every score."""


def pools(data: Path, work: Path, name: str, count: int, titles: bool, model: str, held_out: bool) -> Pool:
    """Return the scores of pooled candidates: ``x`` [rows, scores], gold flags, and the question and passage of each row."""
    saved = work / f"{name}{'' if titles else '-untitled'}{'-held-out' if held_out else ''}.npz"
    if saved.is_file():
        return Pool(**np.load(saved))
    file = data / "extractive" / f"{name}.json.gz"
    task = load_task(file, held_out=True) if held_out and name in TRAINED else build_reqa(load_paragraphs(file))
    passages = task.passages
    # Placeholder titles carry no information.
    keep = titles and not name.startswith(("covidqa", "policyqa"))
    passages = tuple(replace(p, title=p.title if keep and not p.title.startswith("sq-") else "") for p in passages)
    index = index_passages(work / saved.stem, passages, Settings(model=model))
    chosen = sorted(random.Random(0).sample(range(len(task.questions)), min(count, len(task.questions))))
    scored = zip(chosen, index.raw_scores([task.questions[i] for i in chosen]), strict=True)
    rough = np.array([ROUGH.get(name, 0.0) for name in NAMES])
    pool = join_pools(
        [pool_of_question(n, scores, NAMES, rough, task.gold[i], True) for n, (i, scores) in enumerate(scored)]
    )
    np.savez(saved, allow_pickle=False, **asdict(pool))
    return pool


def first_questions(pool: Pool, count: int) -> Pool:
    """Return the rows of the first ``count`` questions."""
    return pool.rows(pool.question < count)


def question_features(pool: Pool) -> Doubles:
    """Return three facts about the question of each row: the highest BM25 score, which rises with rare words and length; the
    share of the ten best by cosine that are among BM25's ten best; and the lead of the best cosine over the tenth."""
    cosine, bm25 = (pool.x[:, NAMES.index(name)] for name in ("sentence_cosine", "sentence_bm25"))
    starts = np.flatnonzero(np.r_[True, np.diff(pool.question) > 0])
    facts = []
    for begin, end in pairwise([*starts, len(cosine)]):
        by_cosine, by_bm25 = (np.argsort(-scores[begin:end])[:10] for scores in (cosine, bm25))
        lead = cosine[begin + by_cosine[0]] - cosine[begin + by_cosine[-1]]
        facts.append([bm25[begin:end].max(), len(np.intersect1d(by_cosine, by_bm25)) / 10, lead])
    return np.repeat(np.array(facts, np.float64), np.diff([*starts, len(cosine)]), axis=0)


def with_products(pool: Pool, facts: Doubles) -> Pool:
    """Return the pool with each score multiplied by 1 and by each of its question's ``facts``."""
    products = [pool.x, *(pool.x * fact[:, None] for fact in facts.T)]
    return replace(pool, x=np.concatenate(products, axis=1).astype(np.float32))


def by_question(pooled_sets: dict[str, Pool], count: int) -> dict[str, Any]:
    """Return leave-one-out metrics of sentences with constant weights, and with weights linear in the question's facts."""
    few = {name: first_questions(pool, count) for name, pool in pooled_sets.items()}
    facts = {name: question_features(pool) for name, pool in few.items()}
    result = {}
    for name, pool in few.items():
        others = [other for other in few if other != name]
        seen = np.concatenate([facts[other] for other in others])
        scaled = {other: (facts[other] - seen.mean(0)) / seen.std(0) for other in few}
        constant = fit_fusion([few[other] for other in others], [*range(len(NAMES))], 10 * PLAIN)
        start = np.concatenate([constant, np.zeros(scaled[name].shape[1] * len(NAMES))])
        products = [with_products(few[other], scaled[other]) for other in others]
        weights = fit_fusion(products, [*range(len(start))], start)
        result[name] = {
            "constant": metrics(pool, constant, "sentence"),
            "by question": metrics(with_products(pool, scaled[name]), weights, "sentence"),
        }
        print(name, result[name], flush=True)
    return result


def metrics(pool: Pool, weights: Doubles, unit: Unit) -> tuple[float, float, float]:
    """Return MRR and hit rates at 1 and 5, in percent, with tied ranks averaged."""
    r = np.array(list(best_ranks(pool, weights, unit).values()))
    mrr, first, fifth = (round(100 * float(v), 2) for v in (np.mean(1 / r), np.mean(r <= 1), np.mean(r <= 5)))
    return mrr, first, fifth


def fitted_weights(pools: list[Pool], used: list[int]) -> Doubles:
    """Return the natural weights of the scores ``used``, 0 for the others. If all are used, none is negative, as in
    ``oreqa fit``."""
    if len(used) == len(NAMES):
        return NATURAL * fit_positive_fusion(pools, PLAIN)
    weights = np.zeros(len(NAMES))
    weights[used] = fit_fusion(pools, used, 10 * PLAIN[used])
    return weights


def against_plain(pools: dict[str, Pool], weights: dict[str, Doubles], used: list[int], unit: Unit) -> dict[str, Any]:
    """Return the plain weights' metrics by set, and what the weights of each set gain in MRR on all its questions."""
    plain = np.where(np.isin(np.arange(len(NAMES)), used), PLAIN, 0.0)
    reciprocal = {
        name: [[1 / rank for rank in best_ranks(pool, w, unit).values()] for w in (plain, weights[name])]
        for name, pool in pools.items()
    }
    every = [[value for ranks in reciprocal.values() for value in ranks[side]] for side in (0, 1)]
    return {
        "plain": {name: metrics(pool, plain, unit) for name, pool in pools.items()},
        "gain": {name: asdict(paired_difference(ranks[0], ranks[1])) for name, ranks in reciprocal.items()},
        "gain of all": asdict(paired_difference(every[0], every[1])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/fusion"))
    parser.add_argument("--untitled", action="store_true", help="leave titles out of what the models read")
    parser.add_argument("--model", default=DEFAULT_ENCODER, help="encoder: a name or a folder")
    parser.add_argument("--held-out", action="store_true", help=f"only held-out articles of {', '.join(sorted(TRAINED))}")
    parser.add_argument(
        "--by-question", type=int, metavar="N", help="only compare weights that depend on the question, on N a set"
    )
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="keep the weights with the encoder, in its fitted.json")
    options = parser.parse_args()
    work = kept_folder(options.work, options.model)
    chosen = not options.untitled, options.model, options.held_out
    pooled_sets = {name: pools(options.data, work, name, count, *chosen) for name, count in SETS.items()}
    if options.by_question:
        result = by_question(pooled_sets, options.by_question)
        if options.out:
            write_result(options.out, {"questions": options.by_question, **result})
        return
    report: dict[str, Any] = {}
    fusion: dict[str, dict[str, float]] = {}
    for unit in reversed(UNITS):
        pooled = {name: pool.of_unit(unit) for name, pool in pooled_sets.items()}
        for mode in MODES:
            used = [NAMES.index(name) for name in mode_weights(plain_weights(SCORES), mode, SCORES)]
            weights = fitted_weights(list(pooled.values()), used)
            # Leave-one-out: weights are fitted on the other sets and measured on the one left out.
            others = {name: [p for other, p in pooled.items() if other != name] for name in pooled}
            others_weights = {name: fitted_weights(others[name], used) for name in pooled}
            apart = {name: metrics(pool, others_weights[name], unit) for name, pool in pooled.items()}
            relative = np.round(weights / weights[used[0]], 4)
            print(f"{unit:9}{mode:7}", np.round(weights, 3), "relative", relative)
            if mode == "hybrid":
                fusion[unit] = dict(zip(NAMES, relative.tolist(), strict=True))
            for name, row in apart.items():
                print(f"    {name:22}", *row)
            mean = [round(float(value), 2) for value in np.mean(list(apart.values()), axis=0)]
            print("    mean", *mean, flush=True)
            report[f"{unit}/{mode}"] = {
                "weights": dict(zip(NAMES, weights.tolist(), strict=True)),
                "left_out": apart,
                "mean": mean,
                "against_plain": against_plain(pooled, others_weights, used, unit),
            }
    if options.write:
        fingerprint = model_fingerprint(find_model(options.model))
        write_fitted(fitted_file(options.model), encoder=fingerprint, fusion=fusion)
    if options.out:
        write_result(options.out, report)
    print(json.dumps({"sets": SETS}))


if __name__ == "__main__":
    main()
