"""What the re-ranker's training depends on: the number of candidates M, and how the span is presented to it.

Run:  python benchmarks/experiments/ablations.py --data ../shared/data \\
          --predictions runs/pack/predictions.jsonl --work runs/ablations

Every variant is trained by the recipe of the model pack on the same few questions of the mined file, and rescores the
same answers to SQuAD dev's questions.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.paragraphs import whole_passages
from oreqa.defaults import BASE_ENCODER, DEFAULT_READER
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import read_json, write_json, write_text
from oreqa.fitting.rows import first_score, ranked_answers
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import Reader
from oreqa.provenance import data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import kept_folder, report
from support.answer_rows import COMBINATION, answer_all

RECIPE = Path(__file__).parents[2] / "recipes" / "small" / "reranker.toml"
BASE = "M = 6, marked"
VARIANTS = {
    "M = 2, marked": ("candidates=2",),
    BASE: ("candidates=6",),
    "M = 12, marked": ("candidates=12",),
    "M = 6, unmarked": ("candidates=6", "marking=unmarked"),
    "M = 6, appended": ("candidates=6", "marking=appended"),
}
ORDERS = {f"alone, K = {k}": replace(COMBINATION, alone=True, rerank_spans=k) for k in (3, 5, 8)} | {
    "combined, K = 5": COMBINATION
}


def train(settings: tuple[str, ...], predictions: Path, reader: str, out: Path) -> None:
    if not (out / "run.json").is_file():
        settings = (f"predictions={predictions}", f"reader={reader}", *settings)
        chosen = [part for setting in settings for part in ("--set", setting)]
        command = ["train", "reranker", "--recipe", str(RECIPE), *chosen, "--out", str(out)]
        subprocess.run([sys.executable, "-m", "oreqa", *command], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--miner", default=DEFAULT_READER, help="the reader that made the predictions, to begin with")
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help=f"beside {BASE}; all if left out")
    parser.add_argument("--set", action="append", default=[], help="change the recipe of all variants: name=value")
    parser.add_argument("--name", default="ablations", help="of the file in results/reconsider")
    parser.add_argument("--work", type=Path, default=Path("runs/ablations"))
    parser.add_argument("--questions", type=int, default=800, help="mined questions; those with right and wrong spans teach")
    parser.add_argument("--asked", type=int, default=500, help="questions of SQuAD dev")
    options = parser.parse_args()
    settings_of_all = [data_hash([options.predictions]), options.questions, options.asked, *options.set]
    options.work = kept_folder(options.work, options.miner, settings=settings_of_all)
    learned = options.work / "predictions.jsonl"
    with options.predictions.open(encoding="utf-8") as lines:
        write_text(learned, "".join(islice(lines, options.questions)))
    file = options.data / "squad" / "squad-v1.1-dev.json.gz"
    paragraphs = load_paragraphs(file)
    chosen = random.Random(0).sample([(p, q) for p in paragraphs for q in p.questions], options.asked)
    index = index_passages(options.work / "index", whole_passages(paragraphs), Settings(model=BASE_ENCODER))
    reader = Reader(DEFAULT_READER)
    right: dict[str, dict[str, list[float]]] = {}
    used: dict[str, int] = {}
    for name, settings in VARIANTS.items():
        if options.variant and name not in (BASE, *options.variant):
            continue
        folder = options.work / name.replace(" ", "").replace(",", "-").replace("=", "")
        train((*options.set, *settings), learned, options.miner, folder)
        used[name] = read_json(folder / "run.json")["questions"]
        saved = folder / "rows.json"
        if not saved.is_file():
            write_json(saved, answer_all(index, reader, CrossEncoder(folder), chosen, apart=False))
        rows: list[dict[str, Any]] = read_json(saved)
        right[name] = {
            order: [first_score(row, ranked_answers(row, w, True)) for row in rows] for order, w in ORDERS.items()
        }
        print(name, {order: round(100 * float(np.mean(values)), 1) for order, values in right[name].items()}, flush=True)
    without = [first_score(row, ranked_answers(row, COMBINATION, False)) for row in rows]
    table: dict[str, Any] = {"no re-ranking": {"em": round(100 * float(np.mean(without)), 2)}}
    for name, orders in right.items():
        for order, values in orders.items():
            entry: dict[str, Any] = {"em": round(100 * float(np.mean(values)), 2)}
            for rival, theirs in (("no re-ranking", without), (BASE, right[BASE][order])):
                if rival != name:
                    gain = paired_difference(theirs, values, 0)
                    entry[f"over {rival}"] = [round(100 * v, 2) for v in (gain.mean, gain.low, gain.high)] + [gain.p]
            table[f"{name}: {order}"] = entry
    sizes = {"mined questions": options.questions, "with right and wrong spans": used, "asked": options.asked}
    result = {**sizes, "data_sha256": data_hash([file]), "table": table}
    report(f"reconsider/{options.name}", result)


if __name__ == "__main__":
    main()
