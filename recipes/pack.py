"""Rebuild the models that come with oreqa from the recipes beside this file.

Run:  python recipes/pack.py --data ../shared/data --work runs/pack      (hours on two cores; goes on when interrupted)

Trains the reader, keeps it as a difference from its backbone, mines its predictions, trains the re-ranker on them and keeps
it as a difference from the reader; draws negatives, trains the classifier on them and keeps it the same way; all under
src/oreqa/models/pack. The cards there (README.md) are written by hand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from oreqa.models.folders import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER, DEFAULT_RERANKER
from oreqa.models.pack import pack_model

ROOT = Path(__file__).parent.parent
PACK = ROOT / "src" / "oreqa" / "models" / "pack"
MINED = (("squad-train-pieces", 2500), ("qed-nq-train", 600))
JUDGED = (("squad-train-pieces", 12000), ("qed-nq-train", 4000))
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
    classifier, pairs = options.work / "classifier", []
    for name, questions in JUDGED:
        file = options.data / "extractive" / f"{name}.json.gz"
        pairs.append(f"{name}-pairs.jsonl")
        if not (options.work / pairs[-1]).is_file():
            oreqa("mine", "negatives", "--data", file, "--draw", questions, "--out", options.work / pairs[-1])
    if not (classifier / "run.json").is_file():
        settings = (f"data_root={options.work}", f"data={json.dumps(pairs)}")
        chosen = [part for setting in settings for part in ("--set", setting)]
        oreqa("train", "classifier", "--recipe", small / "classifier.toml", *chosen, "--out", classifier)
    pack_model(classifier, "classifier", DEFAULT_READER, PACK / DEFAULT_CLASSIFIER, LICENCE)


if __name__ == "__main__":
    main()
