"""Does an encoder search better if it is trained on several sets of questions and averaged with its initial weights?

Run:  python recipes/fit/general_retriever.py --data ../shared/data --work runs/general          (needs the train extra)

Pairs with mined negatives are drawn from each set of DRAWN, without its held-out articles, and an encoder is trained
on all of them. Its weights are averaged with the backbone's, at each of SHARES. The share is chosen by the mean MRR of
hybrid search on DEV, among those that lose at most half a point on every set. With --test, the chosen encoder is measured
once on TEST; with --packaged, so is the encoder that ships with oreqa: the chosen one as a four-bit difference, with weights
of the retrieval scores fitted for it. What --work already contains is not computed again.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from oreqa.core import Mode
from oreqa.defaults import BASE_ENCODER, DEFAULT_ENCODER
from oreqa.evaluation import evaluate_beir, evaluate_reqa
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.mining import mine_negatives
from oreqa.models.weights import mix_weights
from oreqa.provenance import data_hash
from oreqa.training import train_model

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from common import report

RECIPE = Path(__file__).parents[1] / "small" / "retriever-general.toml"
DRAWN = {
    "squad-train-pieces": 4000,
    "squad-train-more": 2500,
    "qed-nq-train": 3500,
    "afriqa-en": 2500,
    "fairytaleqa": 2000,
    "timeqa-human": 1500,
}
SHARES = (0.3, 0.5, 0.7, 1.0)
DEV: dict[str, dict[str, Any]] = {
    "squad held out": {"data": "extractive/squad-train-pieces.json.gz", "held_out": True, "questions": 800},
    "fairytaleqa held out": {"data": "extractive/fairytaleqa.json.gz", "held_out": True},
    "timeqa held out": {"data": "extractive/timeqa-human.json.gz", "held_out": True},
    "selqa dev": {"data": "retrieval/selqa", "split": "dev"},
    "medquad dev": {"data": "retrieval/medquad", "split": "dev"},
    "pubmedqa train": {"data": "retrieval/pubmedqa", "split": "train"},
}
TEST: dict[str, dict[str, Any]] = {
    "squad dev": {"data": "squad/squad-v1.1-dev.json.gz", "sentences": "squad/reqa-squad-dev-sentences.jsonl.gz"},
    "nq held out": {"data": "extractive/qed-nq-train.json.gz", "held_out": True},
    "afriqa held out": {"data": "extractive/afriqa-en.json.gz", "held_out": True},
    "selqa test": {"data": "retrieval/selqa", "split": "test"},
    "pubmedqa test": {"data": "retrieval/pubmedqa", "split": "test"},
    "medquad test": {"data": "retrieval/medquad", "split": "test"},
}
MODES: tuple[Mode, ...] = ("dense", "hybrid")
MOST_LOST = 0.5
"""Points of MRR that a share may lose on a set."""


def train(data: Path, work: Path) -> Path:
    """Train the encoder on the pairs of all sets, and return its folder."""
    files = []
    for name, count in DRAWN.items():
        files.append(work / f"{name}-{count}.jsonl")
        if not files[-1].is_file():
            place = work / f"{name}-index"
            mine_negatives(data / "extractive" / f"{name}.json.gz", files[-1], model=BASE_ENCODER, draw=count, index=place)
            print(f"{files[-1]} is drawn", flush=True)
    out = work / "trained"
    if not (out / "run.json").is_file():
        train_model("retriever", RECIPE, out, [f"data={json.dumps([str(file) for file in files])}"])
    return out


def mixed(trained: Path, share: float) -> Path:
    """Average the encoder with its backbone, at this ``share`` of its trained weights, and return its folder."""
    if share == 1:
        return trained
    out = trained.with_name(f"mixed-{share}")
    if not (out / "model.safetensors").is_file():
        mix_weights(trained, BASE_ENCODER, share, out, keep_fitted=True)
    return out


def measure(data: Path, work: Path, task: str, settings: dict[str, Any], model: str | Path) -> dict[Mode, list[float]]:
    """Return each question's reciprocal rank, by vectors alone and by hybrid search."""
    place = work / "runs" / f"{Path(model).name}-{task.replace(' ', '-')}"
    paths = {key: data / settings[key] for key in ("data", "sentences") if key in settings}
    others = {key: value for key, value in settings.items() if key not in paths}
    evaluate = evaluate_beir if "split" in settings else evaluate_reqa
    values: dict[Mode, list[float]] = {}
    for mode in MODES:
        out = place / mode
        if not (out / "metrics.json").is_file():
            evaluate(out=out, mode=mode, model=model, index=place / "index", **paths, **others)
        values[mode] = [row["mrr"] for row in load_run(out).questions.values()]
    shutil.rmtree(place / "index", ignore_errors=True)
    return values


def mean(values: list[float]) -> float:
    return round(100 * sum(values) / len(values), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--packaged", action="store_true", help="measure the packaged encoder on the test sets, too")
    parser.add_argument("--test", action="store_true", help="measure the chosen share on the test sets, too")
    arguments = parser.parse_args()
    data, work = arguments.data, arguments.work
    work.mkdir(parents=True, exist_ok=True)
    before = {task: measure(data, work, task, settings, BASE_ENCODER) for task, settings in DEV.items()}
    print("before", {task: {mode: mean(rr) for mode, rr in modes.items()} for task, modes in before.items()}, flush=True)
    trained = train(data, work)
    dev: dict[str, Any] = {"0": {task: {mode: mean(rr) for mode, rr in modes.items()} for task, modes in before.items()}}
    for share in SHARES:
        runs = {task: measure(data, work, task, settings, mixed(trained, share)) for task, settings in DEV.items()}
        dev[str(share)] = {task: {mode: mean(rr) for mode, rr in modes.items()} for task, modes in runs.items()}
        print(share, dev[str(share)], flush=True)
    gains = {s: [dev[str(s)][task]["hybrid"] - dev["0"][task]["hybrid"] for task in DEV] for s in SHARES}
    sound = [share for share in SHARES if min(gains[share]) >= -MOST_LOST]
    chosen = max(sound, key=lambda share: sum(gains[share]), default=None)
    files = [work / f"{name}-{count}.jsonl" for name, count in DRAWN.items()]
    result: dict[str, Any] = {"drawn": DRAWN, "pairs_sha256": data_hash(files), "dev": dev, "chosen": chosen}
    models: dict[str, str | Path] = {"test": mixed(trained, chosen)} if arguments.test and chosen else {}
    models |= {"packaged": DEFAULT_ENCODER} if arguments.packaged else {}
    for (name, model), (task, settings) in product(models.items(), TEST.items()):
        theirs, ours = (measure(data, work, task, settings, encoder) for encoder in (BASE_ENCODER, model))
        for mode in MODES:
            row = {"questions": len(ours[mode]), "before": mean(theirs[mode]), "after": mean(ours[mode])}
            gain = asdict(paired_difference(theirs[mode], ours[mode], 0))
            result.setdefault(name, {}).setdefault(task, {})[mode] = {**row, "gain": gain}
        print(name, task, result[name][task], flush=True)
    report("retriever/general", result)


if __name__ == "__main__":
    main()
