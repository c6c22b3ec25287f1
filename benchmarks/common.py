"""What the benchmarks share: texts, timing of whole processes, and output of figures."""

from __future__ import annotations

import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.datasets.paragraphs import Paragraph, load_squad
from oreqa.files import write_json
from oreqa.models.names import find_model, model_fingerprint
from oreqa.provenance import commit

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"

TRAINED = frozenset(("squad-train-pieces", "qed-nq-train", "afriqa-en", "fairytaleqa", "timeqa-human"))
"""Sets that the packaged encoders are trained on, except for the held-out tenth of their articles."""

# Benchmarks share crashes, forks and tiny models with the tests.
sys.path.append(str(ROOT / "tests" / "support"))


def squad(data: Path) -> list[Paragraph]:
    """Return SQuAD dev's paragraphs."""
    return load_squad(data / "squad" / "squad-v1.1-dev.json.gz")


def write_paragraph_files(paragraphs: Sequence[Paragraph], folder: Path) -> None:
    """Write a text file per paragraph, in a folder per article."""
    for number, paragraph in enumerate(paragraphs):
        file = folder / paragraph.title / f"{number:04}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(paragraph.text, encoding="utf-8")


# A child's peak memory includes what its parent had when starting it, so a small process starts the command.
_LAUNCH = """
import json, os, sys, time
started = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - started
print("\\0" + json.dumps([seconds, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)]))
"""


def process(command: Sequence[str]) -> tuple[float, int, str]:
    """Run a whole process: wall seconds, peak memory in bytes, and what it printed. Raises if it fails."""
    launch = [sys.executable, "-I", "-S", "-c", _LAUNCH, *command]
    out = subprocess.run(launch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    printed, _, figures = out.rpartition("\0")
    seconds, peak, code = json.loads(figures)
    if code:
        raise RuntimeError(f"{command} exited with {code}")
    return seconds, peak, printed


def cold(ours: Sequence[str], theirs: Sequence[str], rounds: int, expected: str) -> dict[str, float]:
    """Run two whole commands in turn: median seconds, highest peak in MB, and ours / theirs.

    Both must print ``expected``.
    """
    runs: dict[str, list[tuple[float, int]]] = {"ours": [], "theirs": []}
    for round_ in range(rounds + 1):
        for name, command in (("ours", ours), ("theirs", theirs)):
            seconds, peak, printed = process(command)
            if expected not in printed:
                raise RuntimeError(f"{command} printed {printed!r}")
            if round_:  # the first round warms the disk's cache for both
                runs[name].append((seconds, peak))
    wall = [a[0] / b[0] for a, b in zip(runs["ours"], runs["theirs"], strict=True)]
    peaks = {name: max(peak for _, peak in measured) for name, measured in runs.items()}
    return {
        **{f"{name}_seconds": round(statistics.median(s for s, _ in measured), 3) for name, measured in runs.items()},
        **{f"{name}_peak_mb": round(peak / 1e6) for name, peak in peaks.items()},
        "wall_ratio_median": round(statistics.median(wall), 3),
        "wall_ratio_max": round(max(wall), 3),
        "memory_ratio": round(peaks["ours"] / peaks["theirs"], 3),
        "rounds": rounds,
    }


@dataclass
class Timed:
    """A timed call: calling it returns the seconds; ``result`` is its latest return value."""

    call: Callable[[], Any]
    result: Any = None

    def __call__(self) -> float:
        started = time.perf_counter()
        self.result = self.call()
        return time.perf_counter() - started


def paired(a: Callable[[], float], b: Callable[[], float], rounds: int) -> dict[str, float]:
    """Return the seconds of two calls in turn, A B A B ..., and the median of B / A by pair."""
    first, second = [], []
    for _ in range(rounds):
        first.append(a())
        second.append(b())
    ratios = [y / x for x, y in zip(first, second, strict=True)]
    return {
        "ours_median": round(statistics.median(first), 3),
        "theirs_median": round(statistics.median(second), 3),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_min": round(min(ratios), 3),
        "ratio_max": round(max(ratios), 3),
        "rounds": rounds,
    }


def mean_and_deviation(values: Sequence[float]) -> list[float]:
    """Return the mean and the sample standard deviation, which is 0 for one value."""
    return [round(statistics.mean(values), 2), round(statistics.stdev(values), 2) if len(values) > 1 else 0.0]


def kept_folder(work: Path, *models: str | Path, settings: Sequence[object] = ()) -> Path:
    """Return the part of ``work`` for these models, as they are now, and these settings, so that results of others are
    not reused."""
    fingerprints = "-".join([*(model_fingerprint(find_model(model)) for model in models), *map(str, settings)])
    folder = work / hashlib.sha256(fingerprints.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measured_commit() -> str:
    """Return the commit of the code that a benchmark measures."""
    return commit(ROOT / "src", ROOT / "benchmarks") or "unknown"


def write_result(file: Path, result: Mapping[str, object]) -> None:
    """Write a benchmark's figures, with the commit of the measured code unless they name one."""
    write_json(file, {"commit": measured_commit(), **result})


def report(name: str, result: Mapping[str, object]) -> None:
    """Print a benchmark's figures and write them to results/NAME.json; a name is PAGE/RUN."""
    print(json.dumps({name: result}, indent=2))
    write_result(RESULTS / f"{name}.json", result)
