"""Which questions do both dense and sparse retrieval fail, and why? Fifty of them, read and judged.

Run:  oreqa eval openqa --data ../shared/data/squad/squad-v1.1-dev.json.gz --mode dense --draw 3000 --out runs/squad-dense
      oreqa eval openqa --data ../shared/data/squad/squad-v1.1-dev.json.gz --mode sparse --draw 3000 --out runs/squad-sparse
      python benchmarks/quality/shared_errors.py runs/squad-dense runs/squad-sparse

This is figure 2 of Xiong et al. (2020) with the reading behind it. The judgements are in shared_errors.json beside this
script: a label by question id, from one reader. Questions that were drawn but not judged are printed with the answers of
both runs. The figures are in results/openqa/shared_errors.json.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oreqa.evaluation.compare import compare_runs
from oreqa.evaluation.runs import Run, load_run
from oreqa.files import read_json

sys.path.append(str(Path(__file__).parents[1]))
from common import report

JUDGEMENTS = Path(__file__).with_suffix(".json")
DRAWN = 50


def draw_shared(a: Run, b: Run, count: int, seed: int = 0) -> list[str]:
    """Draw the ids of ``count`` questions that both runs answer wrongly."""
    shared = [key for key, row in a.questions.items() if not row["em"] and not b.questions[key]["em"]]
    random.Random(seed).shuffle(shared)
    return shared[:count]


def shown(key: str, runs: Sequence[Run]) -> str:
    """Return a question with the right answers and the answer of each run."""
    rows = [run.questions[key] for run in runs]
    answers = [answer["text"] for row in rows for answer in row["answers"][:1]]
    return "\n".join([f"{key}: {rows[0]['question']}", f"  right: {rows[0]['gold']}", f"  answered: {answers}"])


def counted(drawn: Sequence[str], labels: Mapping[str, str], meanings: Mapping[str, str]) -> dict[str, int]:
    """Return how many of the drawn questions have each label. Raises ValueError for a label without a meaning."""
    counts = Counter(labels[key] for key in drawn if key in labels)
    if unknown := counts.keys() - meanings.keys():
        raise ValueError(f"{JUDGEMENTS}: labels without a meaning: {sorted(unknown)}")
    return {name: counts[name] for name in meanings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dense", type=Path)
    parser.add_argument("sparse", type=Path)
    options = parser.parse_args()
    dense, sparse = load_run(options.dense), load_run(options.sparse)
    judged: dict[str, Any] = read_json(JUDGEMENTS)
    drawn, comparison = draw_shared(dense, sparse, DRAWN), compare_runs(dense, sparse)
    for key in drawn:
        if key not in judged["labels"]:
            print(shown(key, (dense, sparse)))
    report(
        "openqa/shared_errors",
        {
            "data_sha256": dense.summary["data_sha256"],
            "questions": comparison.questions,
            "em": {"dense": dense.summary["em"], "sparse": sparse.summary["em"]},
            "errors": dict(zip(("both", "only dense", "only sparse", "neither"), comparison.errors.values(), strict=True)),
            "percent": dict(
                zip(("both", "only dense", "only sparse", "neither"), comparison.error_shares.values(), strict=True)
            ),
            "judged by": judged["judged by"],
            "meanings": judged["meanings"],
            "judged": counted(drawn, judged["labels"], judged["meanings"]),
        },
    )


if __name__ == "__main__":
    main()
