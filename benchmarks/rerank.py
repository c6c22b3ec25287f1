"""Fifty sentences re-ranked for each question: our classifier against CrossEncoder.predict at its defaults, in one run.

Run:  python benchmarks/rerank.py --data ../shared/data --classifier DIR      (needs the train extra)

DIR is a trained classifier in full (no difference). Both read the very same inputs: question and sentence, nothing else.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from common import paired, report, squad
from sentence_transformers import CrossEncoder

from oreqa.datasets.pairs import task_candidates
from oreqa.datasets.reqa import build_reqa
from oreqa.runtime.classifier import Classifier

SENTENCES = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--classifier", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    task = build_reqa(squad(options.data))
    candidates = task_candidates(task)
    questions = task.questions[:: len(task.questions) // options.questions][: options.questions]
    rng = np.random.default_rng(0)
    lists = [[candidates[place] for place in rng.integers(0, len(candidates), SENTENCES)] for _ in questions]
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "alone"
        shutil.copytree(options.classifier, folder)
        config = json.loads((folder / "config.json").read_text())
        config["oreqa"] |= {"marking": "alone", "max_tokens": 512}
        (folder / "config.json").write_text(json.dumps(config))
        ours, theirs = Classifier.load(folder), CrossEncoder(str(folder), device="cpu")
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
    report("rerank", {
        "questions": len(questions), "sentences": SENTENCES, **figures,
        "ours_per_second": round(count / figures["ours_median"], 1),
        "theirs_per_second": round(count / figures["theirs_median"], 1),
        "probability_apart_mean": round(float(apart.mean()), 5), "probability_apart_max": round(float(apart.max()), 5),
    })  # fmt: skip


if __name__ == "__main__":
    main()
