"""Progressive pretraining: batches from clusters against batches at random and the inverse cloze task, at equal updates.

Run:  oreqa generate --data ../shared/data/squad/squad-v1.1-dev.json.gz --generator DIR --out questions.jsonl
      python benchmarks/pretraining.py --data ../shared/data --questions questions.jsonl --work runs/pretraining

The passages are those of SQuAD v1.1 dev; what is learned from is generated from them alone, and the questions that people
asked about them are looked at only to measure. For each seed the three trainings take the same number of steps. Measured is
how deep each question's own paragraph lies among all paragraphs, by vectors alone: R@5, R@10, R@20 and MRR, the setting of
ProQA's Table 3 (Xiong et al. 2021). The encoder before any training stands beside them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from common import report, squad

from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.reqa import ReqaTask, build_reqa
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation.metrics import gold_ranks
from oreqa.evaluation.significance import paired_difference
from oreqa.files import write_text
from oreqa.mining import mine_cloze
from oreqa.models.encoder.encoder import Encoder
from oreqa.training import train_model

RECIPE = Path(__file__).parents[1] / "recipes" / "small" / "pretraining.toml"
SQUAD = Path("squad/squad-v1.1-dev.json.gz")
SYSTEMS = ("clusters", "distinct", "cloze")
"""Clusters against batches at random on the same questions; cloze pairs in batches at random."""


def paragraph_ranks(task: ReqaTask, model: str | Path) -> list[float]:
    """For each question the rank of the first paragraph that answers it, by the model's vectors of whole paragraphs."""
    encoder = Encoder.load(model)
    passages = [(p.title, p.text, [(s.start - p.start, s.end - p.start) for s in p.sentences]) for p in task.passages]
    vectors = np.stack([rows[0] for rows in encoder.encode_passages(passages)])
    scores = encoder.encode(task.questions) @ vectors.T
    paragraph_of = np.repeat(np.arange(len(passages)), [len(p.sentences) for p in task.passages])
    golds = [sorted({int(paragraph_of[g]) for g in gold}) for gold in task.gold]
    return [gold_ranks(row, gold)[0] for row, gold in zip(scores, golds, strict=True)]


def figures(ranks: Sequence[float]) -> dict[str, float]:
    """R@N and MRR in percent."""
    best = np.array(ranks)
    metrics = {f"r@{n}": float(np.mean(best <= n)) for n in (1, 5, 10, 20)} | {"mrr": float(np.mean(1 / best))}
    return {name: round(100 * value, 2) for name, value in metrics.items()}


def draw_cloze(data: Path, count: int, seed: int, out: Path) -> None:
    """Write so many pairs of the inverse cloze task to ``out``."""
    passages = len(squad(data))
    mine_cloze(out, data=data / SQUAD, draws=-(-count // passages) + 1, seed=seed)
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = sorted(random.Random(seed).sample(range(len(lines)), count))
    write_text(out, "".join(lines[number] for number in kept))


def train(system: str, questions: Path, cloze: Path, out: Path, seed: int, settings: Sequence[str]) -> dict[str, Any]:
    """Train one system, unless it is trained already; returns what its run.json holds."""
    if not (out / "run.json").is_file():
        pairs = cloze if system == "cloze" else questions
        order = "clusters" if system == "clusters" else "distinct"
        train_model("retriever", RECIPE, out, [f'data=["{pairs}"]', f"batches={order}", f"seed={seed}", *settings])
    record: dict[str, Any] = json.loads((out / "run.json").read_text())
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True, help="pairs from oreqa generate")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="a setting of the recipe, for all trainings")
    parser.add_argument("--name", default="minilm", help="part of the result's name")
    arguments = parser.parse_args()
    task = build_reqa(squad(arguments.data))
    pairs = sum(1 for _ in load_pairs(arguments.questions))
    ranks: dict[str, list[list[float]]] = {"before": [paragraph_ranks(task, DEFAULT_ENCODER)]}
    steps: dict[str, int] = {}
    for seed in range(arguments.seeds):
        cloze = arguments.work / f"cloze-{seed}.jsonl"
        if not cloze.is_file():
            draw_cloze(arguments.data, pairs, seed, cloze)
        for system in SYSTEMS:
            out = arguments.work / f"{arguments.name}-{system}-{seed}"
            record = train(system, arguments.questions, cloze, out, seed, arguments.set)
            steps[system] = record["steps"]
            ranks.setdefault(system, []).append(paragraph_ranks(task, out))
            print(system, seed, figures(ranks[system][-1]), flush=True)
    rows = {}
    for system, runs in ranks.items():
        each = [figures(run) for run in runs]
        rows[system] = {name: [round(float(f(values)), 2) for f in (np.mean, np.std)] for name in each[0]
                        for values in [[row[name] for row in each]]}  # fmt: skip
    reciprocal = {system: np.mean([1 / np.array(run) for run in runs], axis=0) for system, runs in ranks.items()}
    differences = {
        f"clusters - {system}": paired_difference(reciprocal[system].tolist(), reciprocal["clusters"].tolist(), 0)
        for system in ("distinct", "cloze", "before")
    }
    report(
        f"pretraining-{arguments.name}",
        {"questions": pairs, "steps": steps, "seeds": arguments.seeds, "settings": arguments.set, "rows": rows,
         "mrr_differences": {name: asdict(difference) for name, difference in differences.items()}},
    )  # fmt: skip


if __name__ == "__main__":
    main()
