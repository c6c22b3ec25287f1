"""Question generation and progressive pretraining, killed at random moments and started again, against runs left alone.

Run:  python benchmarks/faults/kill_training.py --data ../shared/data --work runs/kill-training

Both commands run with small random models on 150 of SQuAD dev's paragraphs. Each is first run whole; then, five times, it is
killed (kill -9) after a random share of the time that it took, run again to its end, and its files are compared: the
generated questions, and the weights of the trained encoder, byte by byte.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from oreqa.files import write_json, write_text

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from tiny_models import make_generator, make_head, make_model

PRETRAINING = """
kind = "retriever"
unit = "passage"
context = "none"
towers = "separate"
projection = 16
batches = "clusters"
epochs = 8
max_tokens = 64
[optimiser]
learning_rate = 1e-3
batch = 16
checkpoint_steps = 5
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A command without its ``--out``, what that is named, and the pattern of the files that it leaves."""

    command: list[str]
    out: str
    pattern: str

    def begin(self, folder: Path) -> subprocess.Popen[bytes]:
        """Start it in a folder of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "oreqa", *self.command, "--out", str(folder / self.out)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self, folder: Path) -> float:
        """Run it to its end; returns the seconds it took. Raises RuntimeError if it fails."""
        begin = time.monotonic()
        process = self.begin(folder)
        _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(errors.decode())
        return time.monotonic() - begin

    def contents(self, folder: Path) -> dict[str, bytes]:
        """What it wrote."""
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.glob(self.pattern)}


def prepare(data: Path, work: Path) -> dict[str, Job]:
    """Models, paragraphs and pairs in ``work``, and the two commands."""
    paragraphs = squad(data)[:150]
    rows = [{"title": p.title, "paragraphs": [{"context": p.text, "qas": []}]} for p in paragraphs]
    write_json(work / "paragraphs.json", {"version": "1.1", "data": rows})
    pairs = [{"question": q.text, "answer": p.text} for p in paragraphs for q in p.questions[:2]]
    write_text(work / "pairs.jsonl", "".join(json.dumps(pair) + "\n" for pair in pairs))
    encoder, generator = make_model(work / "encoder"), make_generator(work / "generator")
    reader = make_head(work / "reader", "reader")
    write_text(work / "pretraining.toml", PRETRAINING)
    generate = ["generate", "--data", work / "paragraphs.json", "--model", encoder, "--generator", generator]
    generate += ["--reader", reader, "--round-trip", "0.01"]
    train = ["train", "retriever", "--recipe", work / "pretraining.toml", "--set", f"backbone={encoder}"]
    train += ["--set", f'data=["{work / "pairs.jsonl"}"]']
    return {
        "generate": Job([str(part) for part in generate], "questions.jsonl", "questions.jsonl"),
        "pretraining": Job([str(part) for part in train], "model", "model/**/*.safetensors"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.environ["OREQA_PRECISION"] = "f32"
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    rng, figures = random.Random(arguments.seed), {}
    for name, job in prepare(arguments.data, arguments.work).items():
        job.finish(arguments.work / name / "first")  # compiles its models
        seconds = job.finish(arguments.work / name / "whole")
        expected = job.contents(arguments.work / name / "whole")
        assert expected
        moments, equal, kept = [], 0, 0
        for kill in range(arguments.kills):
            folder, moment = arguments.work / name / f"killed-{kill}", rng.uniform(0.3, 0.95) * seconds
            process = job.begin(folder)
            time.sleep(moment)
            process.kill()
            process.communicate()
            if process.returncode == 0:  # it was done before
                raise RuntimeError(f"{name} ended within {moment:.1f} s; run this on a machine that does nothing else")
            kept += any(file for file in folder.rglob("*") if file.name.startswith("checkpoint-") or "partial" in file.name)
            job.finish(folder)
            moments.append(round(moment, 1))
            equal += job.contents(folder) == expected
        figures[name] = {
            "seconds": round(seconds, 1),
            "killed after": moments,
            "kills that left work": kept,
            "files equal": equal,
        }
        print(name, figures[name], flush=True)
    report("proqa/kill_training", figures)


if __name__ == "__main__":
    main()
