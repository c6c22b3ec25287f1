"""An index of many small files: time and memory of whole processes.

Run:  python benchmarks/faults/many_files.py --files 10000 100000 --work runs/files

Each file contains two short sentences. The encoder is a tiny one with random weights, so that the cost per file
dominates.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import process, report
from tiny_models import make_model

WORDS = ["octopus", "hearts", "blood", "tent", "bees", "dance", "three", "has", "the", *map(str, range(300))]


def write_files(folder: Path, count: int) -> None:
    """Write files that are an hour old, 500 per folder."""
    draw, then = random.Random(0), time.time() - 3600
    for number in range(count):
        file = folder / str(number // 500) / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{' '.join(draw.choices(WORDS, k=7))} {number}. {' '.join(draw.choices(WORDS, k=4))}.\n")
        os.utime(file, (then, then))


def measure(work: Path, count: int) -> dict[str, list[float]]:
    """Return the seconds and megabytes of each command."""
    docs, index, model = work / "docs", work / "kb", work / "model"
    shutil.rmtree(work, ignore_errors=True)
    write_files(docs, count)
    make_model(model)
    os.environ["OREQA_CACHE"] = str(work / "cache")
    oreqa = [sys.executable, "-m", "oreqa"]
    update = [*oreqa, "index", str(docs), "--index", str(index)]
    commands = {
        "index, new": [*update, "--model", str(model)],
        "index, nothing changed": update,
        "index, one file changed": update,
        "ask": [*oreqa, "ask", "How many hearts has an octopus?", "--index", str(index)],
        "search": [*oreqa, "search", "octopus hearts", "--index", str(index)],
    }
    figures = {}
    for name, command in commands.items():
        if "one file" in name:
            (docs / "0" / "5.txt").write_text("The tent has three bees.\n")
        seconds, peak, _ = process(command)
        figures[name] = [round(seconds, 2), round(peak / 1e6)]
        print(f"{count:,} files, {name}: {seconds:.2f} s, {peak / 1e6:.0f} MB", flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/files"))
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    figures = {f"{count:,} files": measure(options.work.absolute(), count) for count in options.files}
    report("faults/many_files", {"seconds and MB": figures})


if __name__ == "__main__":
    main()
