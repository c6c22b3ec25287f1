"""Kills indexing runs at each of their writes, and at random moments.

Run:  python benchmarks/faults/kill.py --data ../shared/data --work runs/kill

At each write: a small update, an update with --prune, a first run, a removal and merges are killed (kill -9) before
every write and, where a file is written, halfway through it. A search right after must return the old state or the new one.
Then each continues in four ways: the same command again; the files restored; the removed folder restored and new files
deleted; another path indexed and then the same command. Removals and merges continue in the first way and the last, and in
the end no file may contain anything of what was removed. The final state must equal that of the same commands without a
crash.

With ``--updates``, only these are crashed, and the other results are kept; ``--kills 0`` keeps those of random moments, too.
Each result names the commit of its code: "unknown" for what was measured before results named theirs.

At random: fifty kills while documents are added, changed and removed. In the end the index must equal one built in
one go.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from oreqa.errors import IndexStateError
from oreqa.index import drafts
from oreqa.index.search import Index

sys.path.append(str(Path(__file__).parents[1]))
from common import RESULTS, measured_commit, process, report, squad, write_paragraph_files
from crash import WAYS, Crash, Crashes, Library, differences, forked_state
from crash_commands import Merges, Removals

UPDATES: dict[str, Callable[[Library], Crashes]] = {
    "first run": lambda library: Crashes(library, first=True),
    "index": Crashes,
    "index --prune": lambda library: Crashes(library, "--prune"),
    "index, sharing": Crashes,
    "remove": Removals,
    "merge, new": lambda library: Merges(library, first=True),
    "merge": Merges,
}

PROCESSES = 4

# Small batches give many moments at which something is half done.
RUN = "from oreqa.index import writer; writer.BATCH_PASSAGES = 24; from oreqa.cli import main; main()"


def crash_everywhere(work: Path, name: str) -> list[Crash]:
    """Crash one update at each of its writes."""
    os.environ["OREQA_CACHE"] = str(work / "cache")
    if name.endswith("sharing"):  # so few documents are written whole otherwise
        vars(drafts)["_SHARE"] = 0
    crashes = UPDATES[name](Library(work / name.replace(" ", "")))
    return [crashes.crash(point) for point in crashes.points]


def summary(crashes: list[Crash]) -> dict[str, object]:
    """Return counts of crashes, the states right after them, and the differences by way with examples."""
    return {
        "crash points": len(crashes),
        "searches right after, by what they gave": dict(Counter(crash.after for crash in crashes)),
        "different, by way": {way: sum(bool(crash.ways[way]) for crash in crashes) for way in crashes[0].ways},
        "examples": [
            f"{way}, killed before {crash.write}: {crash.ways[way][0]} ({len(crash.ways[way])} differences)"
            for way in crashes[0].ways
            for crash in [c for c in crashes if c.ways[way]][:2]
        ],
    }


def crash_points(work: Path, updates: Sequence[str]) -> dict[str, object]:
    """Crash updates at each of their writes, in parallel."""
    pool = ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"))
    with pool:
        runs = dict(zip(updates, pool.map(crash_everywhere, [work] * len(updates), updates), strict=True))
    print(f"{'':<14}{'points':>8}{'neither':>9}" + "".join(f"{way:>12}" for way in WAYS))
    for name, crashes in runs.items():
        neither = sum(crash.after not in ("old", "new") for crash in crashes)
        different = (sum(bool(crash.ways.get(way)) for crash in crashes) for way in WAYS)
        print(f"{name:<14}{len(crashes):>8}{neither:>9}" + "".join(f"{count:>12}" for count in different))
    return {name: {"commit": measured_commit(), **summary(crashes)} for name, crashes in runs.items()}


def random_kills(data: Path, work: Path, kills: int, documents: int) -> dict[str, object]:
    """Kill an update of real texts at random moments, then finish it and compare with an index built in one go."""
    rng = random.Random(0)
    texts, index = work / "texts", work / "index"
    paragraphs = squad(data)
    write_paragraph_files(paragraphs[:documents], texts)
    command = [sys.executable, "-c", RUN, "index", str(texts), "--index", str(index), "--prune"]
    longest, killed, searches, unfinished = 8.0, 0, 0, 0
    while killed < kills:
        process_ = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            process_.wait(timeout=rng.uniform(0.05, longest))
        except subprocess.TimeoutExpired:
            process_.kill()
            process_.wait()
            killed += 1
        else:
            # It finished: change the documents, so that there is another update to interrupt.
            assert process_.returncode == 0
            some = sorted(texts.rglob("*.txt"))
            for file in rng.sample(some, 40):
                file.write_text(f"{file.read_text()} Changed after kill {killed}.")
            for file in rng.sample(some, 10):
                file.unlink()
            write_paragraph_files(rng.sample(paragraphs, 20), texts)
            longest = 3.0
            continue
        try:
            assert Index.open(index).search(["What is the capital?"], 3, mode="sparse")[0]
            searches += 1
        except IndexStateError as error:
            assert searches == 0, f"a complete state was lost: {error}"
            unfinished += 1
        time.sleep(0.01)
    process(command)
    fresh = work / "fresh"
    process([*command[:-2], str(fresh), "--prune"])
    expected, state = forked_state(fresh, {}), forked_state(index, {})
    return {
        "kills": killed,
        "searches of a complete state after a kill": searches,
        "kills before the first complete state": unfinished,
        "differences to an uninterrupted index": differences(expected, state),
        **state["counts"],
        "search folders left": sorted(p.name for p in index.iterdir() if p.name.startswith("search")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/kill"))
    parser.add_argument("--updates", nargs="+", choices=UPDATES, default=list(UPDATES))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--documents", type=int, default=400)
    options = parser.parse_args()
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    kept = RESULTS / "faults" / "kill.json"
    result = json.loads(kept.read_text()) if kept.exists() else {"at each write": {}}
    result["at each write"] |= crash_points(work, options.updates)
    if options.kills:
        kills = random_kills(options.data, work / "random", options.kills, options.documents)
        result["at random"] = {"commit": measured_commit(), **kills}
    for row in (*result["at each write"].values(), result.get("at random", {})):
        row.setdefault("commit", "unknown")
    report("faults/kill", {**result, "commit": "that of each part"})


if __name__ == "__main__":
    main()
