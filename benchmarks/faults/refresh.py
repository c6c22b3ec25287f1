"""Runs a thousand searches while the index is refreshed every half second.

Run:  python benchmarks/faults/refresh.py --work runs/refresh

Each refresh raises the version number in every document, adds a word that no document contained before, and adds or
removes a document. No search may fail, and all results of one search must be of one version. Most searches are separate
processes: plain `oreqa search`; the same where each file of index and model takes up to 0.05 s to open; one that waits
between opening the index and searching. Two threads share one index that stays open throughout.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oreqa.index import Index

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from forks import Child, command, run
from tiny_models import make_model

DOCUMENTS = 12
AT_ONCE = 3
EVERY = 0.5
QUESTION = "which version is it"


def write_version(docs: Path, version: int) -> None:
    """Write every document at a version; odd versions have one more document."""
    for number in range(DOCUMENTS):
        text = f"# Document {number}\n\nThis is version {version}.\n\n## Words\n\nA new word is word{version}x.\n"
        (docs / f"{number}.md").write_text(text)
    odd = docs / "odd.md"
    if version % 2:
        odd.write_text(f"# Odd\n\nThis is version {version}.\n\n## Words\n\nA new word is word{version}x.\n")
    else:
        odd.unlink(missing_ok=True)


def refresh(docs: Path, index: Path, stop: Path) -> dict[str, float]:
    """Refresh the index until a file signals to stop."""
    version, longest = 1, 0.0
    while not stop.exists():
        started = time.monotonic()
        version += 1
        write_version(docs, version)
        try:
            command("index", docs, "--index", index, "--prune")
        except SystemExit as error:
            if error.code:
                raise
        longest = max(longest, time.monotonic() - started)
        time.sleep(max(0.0, started + EVERY - time.monotonic()))
    return {"refreshes": version - 1, "longest refresh, seconds": round(longest, 2)}


def fault(texts: list[str]) -> str:
    """Return what is wrong with the passages of a search that should find every document; an empty string if nothing is."""
    versions = {word.strip(".") for text in texts for word in text.split() if word.strip(".").isdigit()}
    versions |= {word[4:].rstrip("x.") for text in texts for word in text.split() if word.startswith("word") and "x" in word}
    if len(versions) != 1:
        return f"versions {', '.join(sorted(versions)) or 'none'} in one result"
    expected = 2 * (DOCUMENTS + int(versions.pop()) % 2)
    return "" if len(texts) == expected else f"{len(texts)} of {expected} sentences"


def slow_disk(work: Path, rng: random.Random) -> None:
    """Delay the opening of every file of the index and the model in this process."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "sqlite3.connect", "os.listdir", "os.scandir") and str(work) in str(arguments[0]):
            time.sleep(rng.uniform(0, 0.05))

    sys.addaudithook(hook)


def search_command(index: Path, seed: int, slow: bool) -> None:
    if slow:
        slow_disk(index.parent, random.Random(seed))
    command("search", QUESTION, "--index", index, "-k", 1000, "--json")


def open_wait_search(index: Path, seed: int) -> list[str]:
    reader = Index.open(index)
    time.sleep(random.Random(seed).uniform(0, 3))
    return [hit.sentence.text for hit in reader.search([QUESTION], 1000)[0]]


def long_lived(index: Path, stop: Path) -> dict[str, Any]:
    """Search with two threads that share one index."""
    reader, faults, counts = Index.open(index), list[str](), [0, 0]

    def loop(thread: int) -> None:
        while not stop.exists():
            try:
                wrong = fault([hit.sentence.text for hit in reader.search([QUESTION], 1000)[0]])
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            faults.extend([wrong] if wrong else [])
            counts[thread] += 1
            time.sleep(0.05)

    threads = [threading.Thread(target=loop, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"searches": sum(counts), "faults": faults}


def finish(kind: str, child: Child) -> str:
    """Return the fault of a search that was started; an empty string if there is none."""
    ended = child.wait()
    if ended.code:
        return ended.failure or ended.err.strip().splitlines()[-1]
    if kind == "open, wait, search":
        return fault(ended.value)
    return fault([hit["sentence"]["text"] for hit in json.loads(ended.out)["hits"]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/refresh"))
    parser.add_argument("--searches", type=int, default=1000)
    options = parser.parse_args()
    work = options.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    docs, index, stop = work / "docs", work / "kb", work / "stop"
    docs.mkdir(parents=True)
    os.environ["OREQA_CACHE"] = str(work / "cache")
    model = make_model(work / "model")
    write_version(docs, 1)
    first = run(lambda: command("index", docs, "--index", index, "--model", model))
    assert first.code == 0, first.err
    refresher = Child(lambda: refresh(docs, index, stop))
    threads = Child(lambda: long_lived(index, stop))
    tasks: dict[str, Callable[[int], Any]] = {
        "oreqa search": lambda seed: search_command(index, seed, False),
        "oreqa search, slow disk": lambda seed: search_command(index, seed, True),
        "open, wait, search": lambda seed: open_wait_search(index, seed),
    }
    shares = ["oreqa search"] * 3 + ["oreqa search, slow disk", "open, wait, search"]
    faults: dict[str, list[str]] = {kind: [] for kind in tasks}
    searches: Counter[str] = Counter()
    running: list[tuple[str, Child]] = []
    for number in range(options.searches):
        kind = shares[number % len(shares)]
        searches[kind] += 1
        running.append((kind, Child(lambda: tasks[kind](number))))  # noqa: B023 (the child runs it at once)
        if len(running) == AT_ONCE:
            kind, child = running.pop(0)
            faults[kind] += [wrong] if (wrong := finish(kind, child)) else []
    for kind, child in running:
        faults[kind] += [wrong] if (wrong := finish(kind, child)) else []
    stop.touch()
    refreshed, shared = refresher.wait(), threads.wait()
    assert refreshed.code == 0, refreshed.err
    assert shared.code == 0, shared.err
    searches["two threads, one index"], faults["two threads, one index"] = shared.value["searches"], shared.value["faults"]
    kinds = {
        kind: {
            "searches": searches[kind],
            "faults": len(faults[kind]),
            "examples": Counter(re.sub(r"\d+", "N", line) for line in faults[kind]).most_common(3),
        }
        for kind in searches
    }
    for kind, row in kinds.items():
        print(f"{kind:<26}{row['searches']:>7}{row['faults']:>5} faults  {row['examples']}")
    report("faults/refresh", {**refreshed.value, **kinds})


if __name__ == "__main__":
    main()
