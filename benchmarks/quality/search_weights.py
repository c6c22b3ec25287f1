"""Search weights fitted on a user's labelled questions: are they kept where they help, and only there?

Run:  OREQA_PRECISION=f32 python benchmarks/quality/search_weights.py --data ../shared/data --work runs/search-weights

Half of the documents of a collection are those that a user has labelled questions about: 150 or 300 of the questions
about them are drawn, and weights are fitted as in ``oreqa fit``. The questions about the other half measure what the
weights gain: MRR of passages, before and after. The decision to keep them is made by cross-validation over all labelled
questions, or on a third of them.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.core import UNITS
from oreqa.datasets.beir import load_beir
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.reqa import ReqaTask, beir_task, build_reqa
from oreqa.evaluation.metrics import paired_difference
from oreqa.fitting.examples import HELD_OUT
from oreqa.fitting.fusion import Pool, pool_of_question
from oreqa.fitting.measuring import CERTAIN
from oreqa.fitting.search import NAMES, Fusion, cross_validated, fitted_weights, ranks_by_unit
from oreqa.index.passages import index_passages
from oreqa.index.scores import SCORES
from oreqa.index.scoring import plain_weights
from oreqa.index.search import Index
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report

SETS, SEEDS, LABELLED = ("medquad", "covidqa", "selqa"), (0, 1, 2), (150, 300)


def load(name: str, data: Path) -> ReqaTask:
    if name == "covidqa":
        return build_reqa(load_paragraphs(data / "extractive" / "covidqa-passages.json.gz"))
    return beir_task(load_beir(data / "retrieval" / name, "test"))


def gained(pools: Sequence[Pool], numbers: Sequence[int], used: Fusion, fitted: Fusion) -> dict[str, Any]:
    before, after = (ranks_by_unit(pools, numbers, weights)["passage"] for weights in (used, fitted))
    difference = paired_difference(before, after)
    return {
        "before": round(100 * float(np.mean(before)), 2),
        "after": round(100 * float(np.mean(after)), 2),
        "p": round(difference.p, 4),
    }


def held_out_gain(pools: Sequence[Pool], measured: Sequence[int], used: Fusion, fitted: Fusion) -> bool:
    """Return what used to decide: a certain gain on the questions about a third of the documents."""
    sums = [np.sum([ranks[unit] for unit in UNITS], axis=0).tolist()
            for ranks in (ranks_by_unit(pools, measured, weights) for weights in (used, fitted))]  # fmt: skip
    difference = paired_difference(*sums)
    return difference.mean > 0 and difference.p < CERTAIN


def measure(index: Index, task: ReqaTask, groups: Sequence[str]) -> list[dict[str, Any]]:
    plain = np.array([plain_weights(SCORES, index.snapshot())[name] for name in NAMES])
    scores = index.raw_scores(list(task.questions))
    pools = [
        pool_of_question(number, question_scores, NAMES, plain, gold, False)
        for number, (question_scores, gold) in enumerate(zip(scores, task.gold, strict=True))
    ]
    used: Fusion = {unit: index.weights(unit) for unit in UNITS}
    rows = []
    for seed in SEEDS:
        names = sorted(set(groups))
        random.Random(seed).shuffle(names)
        labelled_groups = set(names[: len(names) // 2])
        measured = [number for number, group in enumerate(groups) if group not in labelled_groups]
        for count in LABELLED:
            pool = [number for number, group in enumerate(groups) if group in labelled_groups]
            drawn = random.Random(seed).sample(pool, min(count, len(pool)))
            by_group = defaultdict(list)
            for number in drawn:
                by_group[groups[number]].append(number)
            held_out: list[int] = []
            fit: list[int] = []
            for numbers in by_group.values():
                (held_out if len(held_out) * HELD_OUT < len(drawn) else fit).extend(numbers)
            fitted = fitted_weights([pools[number] for number in fit], plain)
            drawn_groups = [groups[number] for number in drawn]
            gain = cross_validated([pools[number] for number in drawn], drawn_groups, used, plain, seed)
            rows.append({
                "seed": seed, "labelled": len(drawn),
                "cross-validated gain": round(50 * gain.mean, 2), "p": round(gain.p, 4),
                "kept": gain.mean > 0 and gain.p < CERTAIN,
                "kept by a third": held_out_gain(pools, held_out, used, fitted),
                "other half": gained(pools, measured, used, fitted),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="the indexes are kept here")
    options = parser.parse_args()
    figures = {}
    for name in SETS:
        task = load(name, options.data)
        candidate_groups = [p.title or p.document_key for p in task.passages for _ in p.sentences]
        index = index_passages(options.work / name, task.passages, Settings())
        figures[name] = measure(index, task, [candidate_groups[gold[0]] for gold in task.gold])
    report("fusion/labelled-questions", figures)


if __name__ == "__main__":
    main()
