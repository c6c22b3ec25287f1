"""Rebuild the models that ship with oreqa from recipes/small.

Run:  python recipes/fit/pack.py --data ../shared/data --work runs/pack
      (a quarter of an hour on an H100, a day or two on two cores; resumes when interrupted)

All models are written under src/oreqa/models/pack. The script trains a retriever by recipes/fit/general_retriever.py
and a question generator, stored as differences from their backbone, and two readers, whose mean weights are stored in the
same way. It then draws negatives, trains two classifiers on them, continues training their mean on SQuAD 2.0's plausible
answers, and stores the mean of before and after as a difference from the reader. The cards there (README.md) are written by
hand; recipes/fit/fusion.py fits the weights of the retriever's scores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from oreqa.defaults import BASE_ENCODER, DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_GENERATOR, DEFAULT_READER
from oreqa.models.checksums import PACK, packaged_checksums, write_checksums
from oreqa.models.pack.packing import pack_model

ROOT = Path(__file__).parents[2]
READERS = ("reader.toml", "reader-negatives.toml")
CLASSIFIERS: tuple[tuple[str, ...], ...] = ((), ("optimiser.learning_rate=2e-4", "dropout=0.1"))
JUDGED = ("squad-train-pieces", "squad-train-more", "qed-nq-train")
DRAWS = (0, 1)
KEPT = (("squad-train-pieces", 2900), ("squad-train-more", 2500), ("qed-nq-train", 1500), ("afriqa-en", 700))
"""Questions that the classifier sees again while it is trained on plausible answers."""
LICENCE = "CC BY-SA 4.0"


def oreqa(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "oreqa", *map(str, arguments)], check=True)


def train(kind: str, recipe: Path, settings: Sequence[str], out: Path) -> None:
    if not (out / "run.json").is_file():
        oreqa("train", kind, "--recipe", recipe, *(part for text in settings for part in ("--set", text)), "--out", out)


def mine(data: Path, out: Path, *options: object) -> None:
    if not out.is_file():
        work = out.parent / f"{data.name.split('.')[0]}.index"
        oreqa("mine", "negatives", "--data", data, "--model", BASE_ENCODER, "--index", work, "--out", out, *options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the data to train on")
    parser.add_argument("--checksums", action="store_true", help="only write the checksums of the files as they are")
    parser.add_argument("--work", type=Path, default=Path("runs/pack"))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where the miners' models run")
    options = parser.parse_args()
    if options.checksums:
        write_checksums(packaged_checksums())
        return
    if options.data is None:
        parser.error("name --data")
    small, device = ROOT / "recipes" / "small", ("--device", options.device)
    general = options.work / "general"
    if not (general / "trained" / "run.json").is_file():
        script = ROOT / "recipes" / "fit" / "general_retriever.py"
        subprocess.run([sys.executable, script, "--data", options.data, "--work", general], check=True)
    pack_model(general / "trained", "encoder", BASE_ENCODER, PACK / DEFAULT_ENCODER, LICENCE)
    generator = options.work / "generator"
    train("generator", small / "generator.toml", [f"data_root={options.data}"], generator)
    pack_model(generator, "generator", BASE_ENCODER, PACK / DEFAULT_GENERATOR, LICENCE)
    readers = [options.work / f"reader-{number}" for number in range(len(READERS))]
    for recipe, out in zip(READERS, readers, strict=True):
        train("reader", small / recipe, [f"data_root={options.data}"], out)
    pack_model(readers, "reader", BASE_ENCODER, PACK / DEFAULT_READER, LICENCE)
    pairs = [f"{name}-{draw}.jsonl" for name in JUDGED for draw in DRAWS]
    for name, draw in product(JUDGED, DRAWS):
        file, out = options.data / "extractive" / f"{name}.json.gz", options.work / f"{name}-{draw}.jsonl"
        mine(file, out, "--seed", draw, *device)
    classifiers = [options.work / f"classifier-{number}" for number in range(len(CLASSIFIERS))]
    for settings, out in zip(CLASSIFIERS, classifiers, strict=True):
        given = [f"data_root={options.work}", f"data={json.dumps(pairs)}", *settings]
        train("classifier", small / "classifier.toml", given, out)
    before, after = options.work / "classifier-mean", options.work / "classifier-plausible"
    pack_model(classifiers, "classifier", DEFAULT_READER, before, LICENCE)
    for name, questions in KEPT:
        mine(
            options.data / "extractive" / f"{name}.json.gz",
            options.work / f"{name}-kept.jsonl",
            "--draw",
            questions,
            *device,
        )
    kept = json.dumps([str(options.work / f"{name}-kept.jsonl") for name, _ in KEPT])
    plausible = json.dumps([str(options.data / "extractive" / "squad2-train-part.json.gz")])
    settings = (f"backbone={before}", f"data={kept}", f"plausible={plausible}")
    train("classifier", small / "classifier-plausible.toml", settings, after)
    pack_model([before, after], "classifier", DEFAULT_READER, PACK / DEFAULT_CLASSIFIER, LICENCE)


if __name__ == "__main__":
    main()
