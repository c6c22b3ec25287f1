"""Fifty sentences re-ranked for each question: our classifier against CrossEncoder.predict at its defaults, in one run.

Run:  python benchmarks/speed/rerank.py --data ../shared/data      (needs the train extra)

Both have the same weights and read the very same inputs: question and sentence, nothing else.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import sentence_transformers
from safetensors.numpy import save_file

from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.reqa import build_reqa
from oreqa.files import read_json, write_json
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.folders import find_model
from oreqa.models.graph.weights import find_tokenizer, load_weights

sys.path.append(str(Path(__file__).parents[1]))
from common import paired, report, squad

SENTENCES = 50


def save_whole(classifier: Path, folder: Path) -> None:
    """The classifier as CrossEncoder loads it: weights put together, its tokenizer beside them, sentences shown alone."""
    shutil.copytree(find_tokenizer(classifier).parent, folder, dirs_exist_ok=True, ignore=lambda _, names: {
        name for name in names if "token" not in name and name != "vocab.txt"})  # fmt: skip
    weights = {name: value for name, value in load_weights(classifier).items() if not name.startswith("qa_")}
    save_file(weights, folder / "model.safetensors")
    config = read_json(classifier / "config.json")
    config["oreqa"].pop("difference_from", None)
    config["oreqa"] |= {"marking": "alone", "max_tokens": 512}
    write_json(folder / "config.json", config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--classifier", default="minilm-classifier")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    task = build_reqa(squad(options.data))
    candidates = task_candidates(task)
    questions = task.questions[:: len(task.questions) // options.questions][: options.questions]
    rng = np.random.default_rng(0)
    lists = [[candidates[place] for place in rng.integers(0, len(candidates), SENTENCES)] for _ in questions]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        save_whole(find_model(options.classifier), folder)
        ours = CrossEncoder(folder)
        theirs = sentence_transformers.CrossEncoder(str(folder), device="cpu")
        found: dict[str, list[float]] = {}

        def run_ours() -> float:
            begun = time.perf_counter()
            # One question at a time, as a user asks.
            logits = [ours.score([question], [own])[0] for question, own in zip(questions, lists, strict=True)]
            found["ours"] = (1 / (1 + np.exp(-np.concatenate(logits)))).tolist()
            return time.perf_counter() - begun

        def run_theirs() -> float:
            begun = time.perf_counter()
            p = [theirs.predict([(question, c.answer) for c in own]) for question, own in zip(questions, lists, strict=True)]
            found["theirs"] = np.concatenate(p).tolist()
            return time.perf_counter() - begun

        run_ours()
        run_theirs()
        figures = paired(run_ours, run_theirs, options.rounds)
    count = SENTENCES * len(questions)
    apart = np.abs(np.array(found["ours"]) - np.array(found["theirs"]))
    report("speed/rerank", {
        "questions": len(questions), "sentences": SENTENCES, **figures,
        "ours_per_second": round(count / figures["ours_median"], 1),
        "theirs_per_second": round(count / figures["theirs_median"], 1),
        "probability_apart_mean": round(float(apart.mean()), 5), "probability_apart_max": round(float(apart.max()), 5),
    })  # fmt: skip


if __name__ == "__main__":
    main()
