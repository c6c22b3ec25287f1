"""What questions generated from documents add to a reader of them, compared with as many additional human questions.

Run:  oreqa generate --data ../shared/data/squad/squad-v1.1-dev.json.gz --generator DIR --extractor DIR --out questions.jsonl
      python benchmarks/experiments/round_trip.py --data ../shared/data --questions questions.jsonl --work runs/round-trip

The reader of the model pack is trained further, for as many steps each: only on questions that people asked about other
documents, all of which it has seen before; or, for half of them, on questions generated from SQuAD dev's paragraphs that
passed the round trip. Each is also measured with the mean of its weights and the original reader's. EM and F1 are
measured on the passages that the questions were asked about: SQuAD dev, whose own questions are used only here, NQ's
held-out articles, and a draw of SQuADShifts Reddit. What is already trained or answered is not done again.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad, split_articles
from oreqa.defaults import DEFAULT_READER
from oreqa.evaluation import evaluate_openqa
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.files import read_jsonl, write_text
from oreqa.models.weights import mix_weights
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[1]))
from common import report

NQ = "extractive/qed-nq-train.json.gz"
PEOPLE = ("extractive/squad-train-pieces.json.gz", "extractive/squad-train-more.json.gz", NQ)
SYSTEMS = ("people", "people and generated")
RECIPE = """kind = "reader"
backbone = "{backbone}"
loss = "shared"
negatives = 0.3
unanswerable = 0.1
max_tokens = 256
overlap = 64
freeze_embeddings = true
dropout = 0.1
attention_dropout = 0.0
seed = {seed}
[optimiser]
learning_rate = {rate}
batch = 32
checkpoint_steps = 100
"""
PART = """[[data]]
file = "{file}"
questions = {questions}
"""


def generated_paragraphs(questions: Path) -> list[Paragraph]:
    """Return the passages of a file of generated pairs, with the questions generated from each."""
    passages: dict[tuple[str, str], list[Question]] = {}
    for number, (_, row) in enumerate(read_jsonl(questions)):
        question = Question(f"generated-{number}", row["question"], (Gold(row["span"], row["span_start"]),))
        passages.setdefault((row.get("title", ""), row["context"]), []).append(question)
    return [Paragraph(title, text, tuple(asked)) for (title, text), asked in passages.items()]


def train(system: str, data: Path, generated: Path, count: int, out: Path, seed: int, rate: float) -> dict[str, Any]:
    """Train a system unless it is trained already; return the content of its run.json."""
    if not (out / "run.json").is_file():
        files = [(data / name, count // len(PEOPLE)) for name in PEOPLE]
        if system == "people":
            files = [(file, 2 * questions) for file, questions in files]
        else:
            files.append((generated, count // len(PEOPLE) * len(PEOPLE)))
        parts = [PART.format(file=file.resolve(), questions=questions) for file, questions in files]
        recipe = out.with_suffix(".toml")
        write_text(recipe, RECIPE.format(backbone=DEFAULT_READER, seed=seed, rate=rate) + "".join(parts))
        train_model("reader", recipe, out)
    record: dict[str, Any] = json.loads((out / "run.json").read_text())
    return record


def measure(reader: str | Path, tests: dict[str, tuple[Path, int | None]], out: Path) -> dict[str, dict[str, list[float]]]:
    """Return EM and F1 of every question of each test."""
    scores = {}
    for test, (file, questions) in tests.items():
        folder = out.with_name(f"{out.name}-{test}")
        if not (folder / "metrics.json").is_file():
            evaluate_openqa(file, folder, gold_passages=True, reader=reader, span_reranker=None, draw=questions)
        rows = load_run(folder).questions.values()
        scores[test] = {metric: [100 * row[metric] for row in rows] for metric in ("em", "f1")}
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True, help="pairs from oreqa generate")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument(
        "--count", type=int, default=4500, help="how many generated questions, and how many written by people"
    )
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--drawn", type=int, default=3000, help="how many questions to draw from Reddit")
    arguments = parser.parse_args()
    work: Path = arguments.work
    generated, nq = work / "generated.json", work / "nq-held-out.json"
    save_squad(generated, generated_paragraphs(arguments.questions))
    save_squad(nq, split_articles(load_paragraphs(arguments.data / NQ))[1])
    tests: dict[str, tuple[Path, int | None]] = {
        "squad": (arguments.data / "squad" / "squad-v1.1-dev.json.gz", None),
        "nq": (nq, None),
        "reddit": (arguments.data / "shift" / "squadshifts-reddit.json.gz", arguments.drawn),
    }
    runs = {"before": [measure(DEFAULT_READER, tests, work / "before")]}
    records = {}
    for seed in range(arguments.seeds):
        for system in SYSTEMS:
            out = work / f"{system.replace(' ', '-')}-{seed}"
            record = train(system, arguments.data, generated, arguments.count, out, seed, arguments.rate)
            records[f"{system}, seed {seed}"] = {key: record[key] for key in ("steps", "seconds")}
            mean = out.with_name(f"{out.name}-mean")
            if not (mean / "model.safetensors").is_file():
                mix_weights(out, DEFAULT_READER, 0.5, mean)
            for name, reader in ((system, out), (f"{system}, mean with before", mean)):
                runs.setdefault(name, []).append(measure(reader, tests, reader))
                print(name, seed, {test: np.mean(scores["em"]) for test, scores in runs[name][-1].items()}, flush=True)
    cells = [(test, metric) for test in tests for metric in ("em", "f1")]
    means = {
        system: {(test, metric): np.mean([run[test][metric] for run in each], axis=0).tolist() for test, metric in cells}
        for system, each in runs.items()
    }
    rows = {
        system: {f"{test} {metric}": round(float(np.mean(of[test, metric])), 2) for test, metric in cells}
        for system, of in means.items()
    }
    differences = {
        f"{system} - {rival}, {' '.join(cell)}": asdict(paired_difference(means[rival][cell], means[system][cell], 0))
        for system, rivals in (
            ("people and generated", ("before", "people")),
            ("people and generated, mean with before", ("before", "people, mean with before")),
        )
        for rival in rivals
        for cell in cells
    }
    report("proqa/round_trip", {"records": records, "rows": rows, "differences": differences})


if __name__ == "__main__":
    main()
