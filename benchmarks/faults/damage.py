"""Damages every file of an index and of the model cache in every way.

Run:  python benchmarks/faults/damage.py --work runs/damage

A byte is flipped at a file's start, in its middle or near its end; a block is inverted; the file is cut in half,
emptied or deleted. Then these commands run: `oreqa search`, `oreqa check`, `oreqa index` with nothing to do, `oreqa search`,
and, after a document changed, `oreqa index` and `oreqa search`. A traceback, an exit without a reason and a different
answer without a warning are bad. The right answer and a one-line error that names the file are good; it is better if the
next `oreqa index` repairs the damage.

When an index is opened, small files are compared with their checksums, large ones only by size: the current
generation is therefore damaged a second time with each of its files treated as large.

With --seconds, random files are damaged for that long: a byte is flipped or the file is cut, at a place drawn by --seed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oreqa.index import generations

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from forks import Ended, command, run, warm_up
from tiny_models import make_model

KINDS = ("flip at the start", "flip in the middle", "flip near the end", "block", "cut to half", "emptied", "deleted")
Hits = dict[str, list[float]]

QUESTION = "how many hearts has an octopus"
TEXTS = {
    "octopus.md": "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Arms\n\nIt has eight arms.\n",
    "bees.txt": "Bees dance to tell where flowers are. The queen lays eggs.\n\nDrones have no sting.\n",
    "rows.jsonl": '{"id": "a", "title": "Tents", "text": "The tent is waterproof.", "kind": "tent"}\n',
}


def damage(file: Path, kind: str) -> None:
    """Damage a file in place."""
    content = bytearray(file.read_bytes())
    size = len(content)
    if kind == "deleted":
        file.unlink()
        return
    where = kind.split()[-1]
    if kind.startswith("flip"):
        place = int(where) if where.isdecimal() else {"start": 2, "middle": size // 2, "end": size - 2}[where]
        content[place % size] ^= 0xFF
    elif kind == "block":
        for place in range(size // 3, min(size // 3 + 512, size)):
            content[place] ^= 0xFF
    else:
        content = content[: int(where) if where.isdecimal() else size // 2 if where == "half" else 0]
    file.write_bytes(content)


def answer(ended: Ended) -> Hits | None:
    """Return what a search printed: every sentence with its scores; None if it failed."""
    if ended.code:
        return None
    hits = json.loads(ended.out)["hits"]
    return {
        f"{hit['document']} {hit['title']} {hit['passage']['text']} {hit['sentence']}": [
            score for _, score in sorted(hit["scores"].items())
        ]
        for hit in hits
    }


def same(a: Hits | None, b: Hits | None) -> bool:
    """Return whether two searches agree; vectors depend slightly on the other texts of a batch."""
    if a is None or b is None or a.keys() != b.keys():
        return False
    pairs = [(x, y) for key in a for x, y in zip(a[key], b[key], strict=True)]
    return all(abs(x - y) <= 1e-2 for x, y in pairs)


def verdict(ended: Ended, right: bool, file: Path) -> str:
    """Return how a command handled the damage of a file."""
    if ended.failure:
        return f"bad: {ended.failure[:160]}"
    lines = ended.err.strip().splitlines()
    if ended.code == 0:
        return "right" if right else "bad: another answer without a word"
    if not lines:
        return "bad: no word"
    named = any(str(place) in ended.err for place in (file, file.parent))
    return f"error: {lines[0][:160]}" if named else f"bad: no file named: {lines[0][:160]}"


class Damages:
    """An index and a cache that can be damaged and restored, and the commands that use them."""

    def __init__(self, work: Path) -> None:
        shutil.rmtree(work, ignore_errors=True)
        self.work, self.docs, self.index, self.cache = work, work / "docs", work / "kb", work / "cache"
        os.environ["OREQA_CACHE"] = str(self.cache)
        self.docs.mkdir(parents=True)
        for name, text in TEXTS.items():
            self.write(name, text, 1000)
        model = make_model(work / "model")
        self.run("index", self.docs, "--index", self.index, "--model", model, "--passage-tokens", 40)
        self.write("bees.txt", TEXTS["bees.txt"] + "\nThey fly.\n", 900)
        self.run("index", self.docs, "--index", self.index)  # two generations
        warm_up(lambda: command("index", self.docs, "--index", self.index))
        warm_up(lambda: command("search", QUESTION, "--index", self.index, "--json"))
        self.before = answer(self.search())
        shutil.copytree(self.index, work / "index copy")
        shutil.copytree(self.cache, work / "cache copy")
        self.change()
        self.run("index", self.docs, "--index", self.index)
        self.after = answer(self.search())
        assert not same(self.before, self.after)
        self.restore()

    def write(self, name: str, text: str, age: float) -> None:
        """Write a document that is ``age`` seconds old."""
        (self.docs / name).write_text(text)
        os.utime(self.docs / name, (time.time() - age, time.time() - age))

    def change(self) -> None:
        self.write("octopus.md", TEXTS["octopus.md"] + "\n## Eyes\n\nIt sees polarised light.\n", 500)

    def restore(self) -> None:
        """Restore index, cache and documents."""
        for folder, copy in ((self.index, "index copy"), (self.cache, "cache copy")):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.work / copy, folder)
        self.write("octopus.md", TEXTS["octopus.md"], 1000)

    def run(self, *arguments: object) -> Ended:
        ended = run(lambda: command(*arguments))
        assert ended.code == 0, ended.err
        return ended

    def refresh(self) -> Ended:
        return run(lambda: command("index", self.docs, "--index", self.index))

    def search(self) -> Ended:
        return run(lambda: command("search", QUESTION, "--index", self.index, "-k", 1000, "--json"))

    def meet(self, file: Path, kind: str) -> dict[str, str]:
        """Damage a file, run the commands and judge each."""
        self.restore()
        damage(file, kind)
        row = {"file": str(file.relative_to(self.work)), "damage": kind}
        row["search"] = self.judge_search(file, self.before)
        check = run(lambda: command("check", "--index", self.index))
        row["check"] = verdict(check, True, file) if check.code else "nothing noticed"
        row["index"] = verdict(self.refresh(), True, file)
        row["search after it"] = self.judge_search(file, self.before)
        self.change()
        refreshed = self.refresh()
        row["index of a change"] = verdict(refreshed, True, file)
        row["search after that"] = self.judge_search(file, self.before if refreshed.code else self.after)
        return row

    def judge_search(self, file: Path, expected: Hits | None) -> str:
        ended = self.search()
        return verdict(ended, same(answer(ended), expected), file)


STEPS = ("search", "check", "index", "search after it", "index of a change", "search after that")


def classify(row: dict[str, str]) -> str:
    """Return one word for a case."""
    if any(row[step].startswith("bad") for step in STEPS):
        return "bad"
    if row["search after that"] != "right" or row["index of a change"] != "right":
        return "named, not mended"
    if row["search"] == "right":
        return "harmless"
    return "named and mended"


def meet_all(damages: Damages, files: list[Path], kinds: Sequence[str], what: str) -> dict[str, Any]:
    """Damage every file in every way; return a table and its counts."""
    rows: list[dict[str, str]] = []
    for file in files:
        damages.restore()
        rows += [damages.meet(file, kind) for kind in (kinds if file.stat().st_size else kinds[-1:])]
        classes = Counter(classify(row) for row in rows if row["file"] == str(file.relative_to(damages.work)))
        counts = ", ".join(f"{count} {name}" for name, count in classes.most_common())
        print(f"{what}: {file.relative_to(damages.work)}: {counts}", flush=True)
    damages.restore()
    bad = [row for row in rows if classify(row) == "bad"]
    for row in bad:
        print(
            f"  {row['file']}, {row['damage']}: {'; '.join(row[step][5:] for step in STEPS if row[step].startswith('bad'))}"
        )
    return {
        "cases": len(rows),
        **Counter(classify(row) for row in rows),
        "not noticed by check": sum(row["check"] == "nothing noticed" for row in rows),
        "bad ones": [f"{row['file']}, {row['damage']}, {step}: {row[step][5:]}"
                     for row in bad for step in STEPS if row[step].startswith("bad")],
    }  # fmt: skip


def meet_at_random(damages: Damages, seconds: float, seed: int) -> bool:
    """Damage random files until the time is over and print what is bad; return whether nothing is."""
    files = sorted(file for folder in (damages.index, damages.cache) for file in folder.rglob("*") if file.is_file())
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        rng = random.Random(f"{seed} {counts.total()}")
        damages.restore()
        file = rng.choice(files)
        place = rng.randrange(file.stat().st_size or 1)
        kind = rng.choice((f"flip at {place}", f"flip at {place}", f"cut to {place}", "deleted"))
        row = damages.meet(file, kind if file.stat().st_size else "deleted")
        if classify(row) == "bad":
            print(f"seed {seed}, case {counts.total()}: {row}", file=sys.stderr)
        counts[classify(row)] += 1
    print(f"seed {seed}: {dict(counts)}")
    return not counts["bad"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/damage"))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    damages = Damages(options.work.absolute())
    if options.seconds is not None:
        sys.exit(0 if meet_at_random(damages, options.seconds, options.seed) else 1)
    older, current = sorted(damages.index.glob("search-*"))
    cache, index, before, now = (
        sorted(file for file in folder.rglob("*") if file.is_file())
        for folder in (damages.cache, damages.index, older, current)
    )
    beside = sorted({*index} - {*before} - {*now})
    result = {
        "cache of models": meet_all(damages, cache, KINDS, "cache"),
        "current generation": meet_all(damages, now, KINDS, "index"),
        "generation before": meet_all(damages, before, KINDS[-2:], "generation before"),
        "beside the generations": meet_all(damages, beside, KINDS, "beside"),
    }
    generations._SMALL = 0
    result["current generation, its files treated as large"] = meet_all(damages, now, KINDS, "large")
    report("faults/damage", result)


if __name__ == "__main__":
    main()
