"""Indexes on disks that are too small: in steps, of every size up to what each run needs.

Run:  unshare --user --map-root-user --mount python benchmarks/faults/small_disks.py --work runs/disks

The disk is a tmpfs. A first run and an update, with exact vectors and with a FAISS index, must succeed or end with a
one-line error. An error must leave no draft and, for an update, the index unchanged; the same command with enough room must
give the result of a run without failure.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from full_disk import Disks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/disks"))
    parser.add_argument("--step", type=int, default=16, help="difference in size of two disks, in kB")
    options = parser.parse_args()
    result: dict[str, object] = {}
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    disks = Disks(work)
    for name, update in (("first run", False), ("update", True)):
        need = disks.need(update)
        runs = [disks.run(update, room) for room in range(4, need * 3 // 2, options.step)]
        wrong = [f"{run.room} kB: {problem}" for run in runs for problem in run.wrong]
        result[name] = {
            "disks": len(runs),
            **Counter("an error" if run.error else "an index" for run in runs),
            "wrong": sum(bool(run.wrong) for run in runs),
            "examples": [line.replace(str(work), "...") for line in wrong[:5]],
        }
        print(name, result[name], flush=True)
    report("faults/small_disks", result)


if __name__ == "__main__":
    main()
