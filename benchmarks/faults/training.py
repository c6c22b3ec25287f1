"""Kills training, mining, generation, fitting and adaptation at random moments, and runs them on disks that are too small.

Run:  unshare --user --map-root-user --mount python benchmarks/faults/training.py --work runs/training

Each command first runs whole, with small random models. Then it is killed (kill -9) up to three times, after a random
share of its running time, and run to its end. On a disk (a tmpfs) of a random size, up to what it needs, it must succeed or
end with a one-line error, leave no temporary file, and is run again with enough room. In each case its final output must
equal that of an undisturbed run, except for the seconds in it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from forks import Ended, warm_up
from small_disk import SmallDisk
from support.small_jobs import PATIENCE, Job, prepare_jobs

from oreqa.adaptation import adapt
from oreqa.generation import candidates
from oreqa.mining import silver

ROOM = 2**28
"""Bytes that are always enough."""
PAGE = 4096


class Trials:
    """A command, the output of an undisturbed run, and how many trials ended how."""

    def __init__(self, job: Job, work: Path) -> None:
        self.job, self.work = job, work
        work.mkdir()
        seconds = []
        for name in ("first", "whole"):  # the first compiles the models
            job.prepare(work / name)
            started = time.monotonic()
            ended = job.finish(work / name)
            assert ended.code == 0, ended.err
            seconds.append(time.monotonic() - started)
        self.seconds, self.expected = seconds[1], job.written(work / "whole")
        assert self.expected == job.written(work / "first") != set()
        self.problems: list[str] = []

    def equal(self, folder: Path, ended: Ended, what: str) -> bool:
        """Return whether the last run ended well and wrote what it must."""
        if ended.code:
            self.problems.append(f"{what}: {ended.code} {ended.err.strip()[-300:]}")
        elif different := {name for name, _ in self.expected ^ self.job.written(folder)}:
            self.problems.append(f"{what}: differs in {sorted(different)[:4]}")
        else:
            return True
        return False

    def kills(self, count: int, rng: random.Random) -> dict[str, int]:
        """Kill runs at random moments, then run them to the end."""
        counts: Counter[str] = Counter(runs=0, kills=0, equal=0)
        while counts["runs"] < count:
            folder, killed = self.work / f"killed {counts['runs']}", []
            self.job.prepare(folder)
            for _ in range(rng.choice((1, 1, 2, 3))):
                moment = rng.uniform(0.02, 1) * self.seconds
                child = self.job.begin(folder)
                time.sleep(moment)
                os.kill(child.process, signal.SIGKILL)
                if not child.wait(PATIENCE).killed:  # it was done before
                    break
                killed.append(f"{moment:.2f}")
            if killed and self.job.written(folder) != self.expected:
                counts["runs"] += 1
                counts["kills"] += len(killed)
                counts["equal"] += self.equal(folder, self.job.finish(folder), f"killed after {killed}")
            shutil.rmtree(folder)
        return counts

    def disks(self, count: int, rng: random.Random) -> dict[str, int]:
        """Run on disks of random sizes, then with enough room."""
        counts: Counter[str] = Counter(disks=0, errors=0, equal=0)
        disk = SmallDisk(self.work / "disk")
        folder = disk.folder / "run"
        before, need = self._need(disk)
        while counts["disks"] < count:
            size = rng.randint(before // PAGE + 1, need // PAGE + 2) * PAGE  # a tmpfs of size 0 has no limit
            with disk.mounted(size):
                try:
                    self.job.prepare(folder)
                except OSError:  # no room to begin
                    continue
                ended = self.job.finish(folder)
                counts["disks"] += 1
                counts["errors"] += ended.code != 0
                wrong = _wrong(ended, folder)
                disk.resize(ROOM)
                ended = self.job.finish(folder) if ended.code else ended
                what = f"{(size - before) // 1024} kB of {(need - before) // 1024}"
                self.problems += [f"{what}: {line}" for line in wrong]
                counts["equal"] += self.equal(folder, ended, what) and not wrong
        return counts

    def _need(self, disk: SmallDisk) -> tuple[int, int]:
        """Return the bytes on the disk before a run, and the peak during it."""
        folder = disk.folder / "run"
        with disk.mounted(ROOM):
            self.job.prepare(folder)
            before = peak = disk.used()
            child = self.job.begin(folder)
            while os.waitid(os.P_PID, child.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                peak = max(peak, disk.used())
                time.sleep(0.003)
            assert child.wait().code == 0
        return before, peak


def _wrong(ended: Ended, folder: Path) -> list[str]:
    """Return what is wrong with the end of a run on a small disk, and with what it left."""
    wrong = [ended.failure] if ended.failure else []
    if ended.code and [line[:7] for line in ended.err.splitlines()][-1:] != [
        "error: "
    ]:  # adapt first says how long it takes
        wrong.append(f"no single line: {ended.err[-300:]}")
    return wrong + [str(path) for path in folder.rglob(".*") if re.fullmatch(r"\..*\.\d+", path.name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/training"))
    parser.add_argument("--commands", nargs="*", default=[], help="all, unless some are named")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--disks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    os.environ |= {
        "OREQA_PRECISION": "f32",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "OREQA_CACHE": str(work / "cache"),
    }
    # The tiny models read letters: short passages are asked about, and work is saved often.
    candidates.MIN_WORDS, candidates.is_prose, adapt.FEWEST_QUESTIONS = 5, bool, 1  # type: ignore[assignment, attr-defined]
    silver.SCORED_TOGETHER = 4
    jobs, result = prepare_jobs(work), {}
    for name in options.commands or jobs:
        jobs[name].prepare(work / "warm")
        warm_up(partial(jobs[name].run, work / "warm"))
        shutil.rmtree(work / "warm")
        trials, rng = Trials(jobs[name], work / name.replace(" ", "-")), random.Random(options.seed)
        result[name] = {
            "killed": trials.kills(options.kills, rng),
            "small disks": trials.disks(options.disks, rng),
            "problems": [line.replace(str(work), "...") for line in trials.problems],
        }
        print(name, f"{trials.seconds:.1f} s", result[name], flush=True)
    report("faults/training", result)


if __name__ == "__main__":
    main()
