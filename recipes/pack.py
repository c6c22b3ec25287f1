"""Rebuild the models that come with oreqa from the recipes beside this file.

Run:  python recipes/pack.py --data ../shared/data --work runs/pack      (hours on two cores; goes on when interrupted)

Trains the reader, keeps it as a difference from its backbone, mines its predictions, trains the re-ranker on them and keeps
it as a difference from the reader, all under src/oreqa/models/pack. The cards there (README.md) are written by hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from oreqa.models.folders import DEFAULT_ENCODER, DEFAULT_READER, DEFAULT_RERANKER
from oreqa.models.pack import pack_model

ROOT = Path(__file__).parent.parent
PACK = ROOT / "src" / "oreqa" / "models" / "pack"
MINED = (("squad-train-pieces", 2500), ("qed-nq-train", 600))
LICENCE = "CC BY-SA 4.0"


def oreqa(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "oreqa", *map(str, arguments)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/pack"))
    options = parser.parse_args()
    small, root = ROOT / "recipes" / "small", f"data_root={options.data}"
    reader, mined, reranker = options.work / "reader", options.work / "predictions.jsonl", options.work / "reranker"
    if not (reader / "run.json").is_file():
        oreqa("train", "reader", "--recipe", small / "reader.toml", "--set", root, "--out", reader)
    pack_model(reader, "reader", DEFAULT_ENCODER, PACK / DEFAULT_READER, LICENCE)
    for name, questions in MINED:
        file = options.data / "extractive" / f"{name}.json.gz"
        oreqa("mine", "predictions", "--data", file, "--questions", questions, "--out", mined)
    if not (reranker / "run.json").is_file():
        oreqa("train", "reranker", "--recipe", small / "reranker.toml", "--set", f"predictions={mined}", "--out", reranker)
    pack_model(reranker, "reranker", DEFAULT_READER, PACK / DEFAULT_RERANKER, LICENCE)


if __name__ == "__main__":
    main()
