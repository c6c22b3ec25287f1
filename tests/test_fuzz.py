"""Two minutes of fuzzing, with a fixed seed and a fresh one: ``make system`` prints the latter, and so does what fails.

The scripts run as long as they are asked to; a fault names the seed that makes it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

FAULTS = Path(__file__).parents[1] / "benchmarks" / "faults"
SECONDS = {
    "fuzz_requests": 12,
    "fuzz_commands": 14,
    "damage": 14,
    "fuzz_readers": 1.5,
}  # the last for each of its readers


@pytest.mark.system
@pytest.mark.parametrize("seed", ["fixed", "fresh"])
@pytest.mark.parametrize("script", SECONDS)
def test_nothing_odd_or_damaged_ends_in_a_traceback_or_a_wrong_answer(script: str, seed: str, tmp_path: Path) -> None:
    number = "0" if seed == "fixed" else os.environ.get("FUZZ_SEED", str(time.time_ns() % 2**32))
    command = [sys.executable, FAULTS / f"{script}.py", "--seconds", str(SECONDS[script]), "--seed", number]
    work = ["--work", tmp_path / "work"]
    options = {"damage": work, "fuzz_readers": [*work, "--forget"]}
    ended = subprocess.run([*command, *options.get(script, ())], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, f"--seed {number}: {ended.stderr[-3000:]}{ended.stdout[-3000:]}"
