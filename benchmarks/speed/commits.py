"""Did a change make a command slower? `oreqa index` and `oreqa ask` of two checkouts, in turn in one run.

Run:  python benchmarks/speed/commits.py --before ../before --collections ../collections/git ../collections/pdf

A checkout is a folder with oreqa's src, as made by `git worktree add`. Figures are CPU seconds of whole processes,
because a busy machine changes them little. A tiny encoder indexes each collection, so that mostly reading, splitting and
writing are timed; the questions are asked with the packaged models. Figures are written to results/speed/commits-NAME.json.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from oreqa.provenance import commit

sys.path.append(str(Path(__file__).parents[1]))
from common import ROOT, write_result
from tiny_models import make_model

QUESTIONS = ("Who was the first person treated with insulin?", "How much does the Eiffel Tower weigh?")


def cpu_seconds(checkout: Path, *arguments: str | Path) -> float:
    """Return the user and system time of one checkout's command. Raises if it fails."""
    launch = [sys.executable, "-m", "oreqa", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OREQA_PRECISION": "f32"}
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(launch, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1):  # 1: a file could not be read, or no answer
            errors.seek(0)
            raise RuntimeError(f"{launch} exited with {child.returncode} in {checkout}: {errors.read()[-2000:]!r}")
    return usage.ru_utime + usage.ru_stime


def compare(before: Path, after: Path, rounds: int, command: Callable[[Path], float]) -> dict[str, Any]:
    """Return the medians of both, and of after / before by round. The first round warms caches and is not counted."""
    runs = [(command(before), command(after)) for _ in range(rounds + 1)][1:]
    ratios = [b / a for a, b in runs]
    return {
        "before_seconds": round(statistics.median(a for a, _ in runs), 2),
        "after_seconds": round(statistics.median(b for _, b in runs), 2),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, default=ROOT)
    parser.add_argument("--collections", type=Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--name", required=True)
    arguments = parser.parse_args()
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        encoder = make_model(Path(temporary) / "encoder")

        def index(documents: Path, checkout: Path) -> float:
            folder = Path(temporary) / "new"
            shutil.rmtree(folder, ignore_errors=True)
            return cpu_seconds(checkout, "index", documents, "--index", folder, "--model", encoder)

        def ask(question: str, checkout: Path) -> float:
            return cpu_seconds(checkout, "ask", question, "--index", indexes[checkout])

        both = (arguments.before, arguments.after)
        for documents in arguments.collections:
            rows[f"index {documents.name}"] = compare(*both, arguments.rounds, partial(index, documents))
        indexes = {checkout: Path(temporary) / str(number) for number, checkout in enumerate(both)}
        for checkout in both:
            cpu_seconds(checkout, "index", ROOT / "demo" / "library", "--index", indexes[checkout])
        for question in QUESTIONS:
            rows[f"ask {question}"] = compare(*both, arguments.rounds, partial(ask, question))
    for name, row in rows.items():
        print(f"{name}: {row['ratio_median']} ({min(row['ratios'])} to {max(row['ratios'])})")
    commits = {
        name: commit(checkout / "src") for name, checkout in (("before", arguments.before), ("commit", arguments.after))
    }
    result = {**commits, "load": os.getloadavg()[0], "rounds": arguments.rounds, "rows": rows}
    write_result(ROOT / "results" / "speed" / f"commits-{arguments.name}.json", result)


if __name__ == "__main__":
    main()
