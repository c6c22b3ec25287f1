"""Runs seeded random trials for a given time, and prints each failure with what reproduces it."""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

Trial = Callable[[random.Random, Counter[str]], tuple[str, str]]
"""Runs a random trial and may count its outcome; returns what was tried, and what was wrong or an empty string."""


def fuzz(description: str, prepare: Callable[[Path], Trial]) -> None:
    """Read --seconds and --seed, run the trial prepared in a temporary folder that long, and exit with 1 if any fails."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        trial = prepare(Path(folder))
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            counts["tried"] += 1
            name, fault = trial(random.Random(f"{options.seed} {counts['tried']}"), counts)
            if fault:
                counts["faults"] += 1
                print(f"seed {options.seed}, number {counts['tried']}, {name}: {fault}", file=sys.stderr)
        os.chdir("/")  # a trial may work in the folder
    print(f"seed {options.seed}: {dict(counts)}")
    sys.exit(1 if counts["faults"] else 0)
