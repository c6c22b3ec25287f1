"""What ENDX costs: seconds and memory of a training step against the dual encoder alone, and inference of the two.

Run:  python benchmarks/speed/endx_cost.py --data ../shared/data/extractive/squad-train-pieces.json.gz --work runs/endx_cost

Each training is a process of its own on the same pairs, in turn; a step's time is that of Trainer's own clock, memory the
process' peak. Inference encodes the same texts with both trained folders, in turn: the exported models are of one shape.
All is computed in float32.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from oreqa.datasets.load import load_training_pairs
from oreqa.datasets.pairs import pair_row
from oreqa.files import write_jsonl, write_text
from oreqa.models.encoder.encoder import Encoder

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report

RECIPES = Path(__file__).parents[2] / "recipes" / "small"


def write_recipe(encoder: str, aligned: bool, out: Path) -> None:
    """The small recipe of an encoder, with its table [alignment] or without."""
    text = (RECIPES / ("endx-bert.toml" if encoder == "bert" else "endx-gru.toml")).read_text()
    if not aligned:
        head, _, tail = text.partition("\n[alignment]\n")
        text = head + "\n[optimiser]\n" + tail.partition("\n[optimiser]\n")[2]
    write_text(out, text)
    assert ("alignment" in tomllib.loads(text)) == aligned


def train(encoder: str, system: str, pairs: Path, work: Path) -> tuple[float, float]:
    """Seconds a step, and the process' peak in MB."""
    out, recipe = work / f"{encoder}-{system}", work / f"{encoder}-{system}.toml"
    shutil.rmtree(out, ignore_errors=True)
    write_recipe(encoder, system == "endx", recipe)
    settings = [f'data=["{pairs}"]', "epochs=1", "optimiser.precision=f32"]
    settings += [f"encoder={encoder}"] if encoder != "bert" else []
    arguments = [part for setting in settings for part in ("--set", setting)]
    _, peak, _ = process(
        [sys.executable, "-m", "oreqa", "train", "retriever", "--recipe", str(recipe), "--out", str(out), *arguments]
    )
    record = json.loads((out / "run.json").read_text())
    return record["seconds"] / record["steps"], peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--encoder", action="append", choices=("bert", "gru", "lstm", "transformer", "rnn"))
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    pairs = arguments.work / "pairs.jsonl"
    rows = load_training_pairs(arguments.data)[: 64 * arguments.steps]
    write_jsonl(pairs, [pair_row(pair) for pair in rows])
    result: dict[str, Any] = {}
    for encoder in arguments.encoder or ["bert", "gru", "lstm", "transformer"]:
        steps: dict[str, list[tuple[float, float]]] = {"dual": [], "endx": []}
        for _ in range(arguments.rounds):
            for system, runs in steps.items():
                runs.append(train(encoder, system, pairs, arguments.work))
        models = {system: Encoder.load(arguments.work / f"{encoder}-{system}", precision="f32") for system in steps}
        texts = [pair.positive.answer for pair in rows]
        inference: dict[str, list[float]] = {system: [] for system in models}
        for _ in range(arguments.rounds + 1):
            for system, model in models.items():
                begin = time.perf_counter()
                model.encode(texts)
                inference[system].append(time.perf_counter() - begin)
        seconds = {system: statistics.median(of_step for of_step, _ in runs) for system, runs in steps.items()}
        peaks = {system: max(peak for _, peak in runs) for system, runs in steps.items()}
        rates = {system: len(texts) / statistics.median(times[1:]) for system, times in inference.items()}
        result[encoder] = {
            "seconds_a_step": {system: round(value, 3) for system, value in seconds.items()},
            "peak_mb": {system: round(value) for system, value in peaks.items()},
            "texts_a_second": {system: round(value) for system, value in rates.items()},
            "endx / dual": {
                "seconds_a_step": round(seconds["endx"] / seconds["dual"], 2),
                "peak_mb": round(peaks["endx"] / peaks["dual"], 2),
                "texts_a_second": round(rates["endx"] / rates["dual"], 3),
            },
        }
        print(encoder, result[encoder]["endx / dual"], flush=True)
    report("endx_cost", {"steps": arguments.steps, "rounds": arguments.rounds, **result})


if __name__ == "__main__":
    main()
