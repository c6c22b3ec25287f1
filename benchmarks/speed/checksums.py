"""What the checksums of the packaged models cost: whole commands with and without them, in turn.

Run:  python benchmarks/speed/checksums.py --rounds 21
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import ROOT, process, report

WITH = "from oreqa.cli import main; main()"
WITHOUT = f"from oreqa.models import checksums; checksums._sums = dict; {WITH}"
QUESTION = "How many hearts has an octopus?"


def measure(arguments: list[str], rounds: int) -> dict[str, float]:
    """Return the median seconds of both, and the median share of a run's time that checksums take, in percent."""
    seconds: dict[str, list[float]] = {WITH: [], WITHOUT: []}
    for number in range(rounds + 1):
        for code in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
            took, _, _ = process([sys.executable, "-c", code, *arguments])
            if number:  # the first round warms the caches
                seconds[code].append(took)
    shares = [100 * (1 - without / with_) for with_, without in zip(seconds[WITH], seconds[WITHOUT], strict=True)]
    return {
        "seconds with": round(statistics.median(seconds[WITH]), 3),
        "seconds without": round(statistics.median(seconds[WITHOUT]), 3),
        "share": round(statistics.median(shares), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = ["--index", f"{folder}/kb"]
        process([sys.executable, "-m", "oreqa", "index", str(ROOT / "demo" / "library"), *index])
        figures = {name: measure([name, QUESTION, *index], options.rounds) for name in ("ask", "search")}
    report("speed/checksums", {"rounds": options.rounds, **figures})


if __name__ == "__main__":
    main()
