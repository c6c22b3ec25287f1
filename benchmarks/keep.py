"""Store a run as results/PAGE/RUN: its metrics.json, and the metrics of every question in compact form.

Run:  python benchmarks/keep.py PAGE RUN [RUN ...]

`oreqa compare results/PAGE/A results/PAGE/B` can then recompute every difference, interval and p.
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import RESULTS

from oreqa.evaluation.runs import load_run
from oreqa.files import write_json, write_jsonl
from oreqa.models.pack.packing import portable


def main() -> None:
    page, *runs = sys.argv[1:]
    for folder in map(Path, runs):
        run = load_run(folder)
        kept = RESULTS / page / folder.name
        rows = [{"id": key, **{name: value for name, value in row.items() if name in run.summary}}
                for key, row in run.questions.items()]  # fmt: skip
        write_jsonl(kept / "per_question.jsonl.gz", rows)
        write_json(kept / "metrics.json", portable(run.summary, str(folder.absolute().parent)))
        print(f"{kept}: {(kept / 'per_question.jsonl.gz').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
