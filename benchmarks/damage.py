"""Every file of an index and of the cache of models, damaged in every way.

Run:  python benchmarks/damage.py --work runs/damage

A file has a byte flipped at its start, in its middle or near its end, loses a block to zeros, is cut to half, emptied, deleted.
Then follow `oreqa search`, `oreqa check`, `oreqa index` with nothing to do, `oreqa search`, and, with a document changed,
`oreqa index` and `oreqa search`. Bad are a traceback, an exit without a reason, and an answer that differs without a word.
Good are the right answer and an error of one line that names the file; better if the next `oreqa index` mends it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import report
from forks import Ended, command, run
from tiny_models import make_model

KINDS = ("flip at the start", "flip in the middle", "flip near the end", "zeros", "cut to half", "emptied", "deleted")
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
    if kind.startswith("flip"):
        content[{"start": 2, "middle": size // 2}.get(kind.split()[-1], size - 2) % size] ^= 0xFF
    elif kind == "zeros":
        block = max(1, min(512, size // 3))
        content[size // 3 : size // 3 + block] = bytes(block)
    else:
        content = content[: size // 2 if kind == "cut to half" else 0]
    file.write_bytes(content)


def answer(ended: Ended) -> dict[str, list[float]] | None:
    """What a search printed: every sentence with its scores; None if it failed."""
    if ended.code:
        return None
    hits = json.loads(ended.out)["hits"]
    return {
        f"{hit['document']} {hit['title']} {hit['passage']['text']} {hit['sentence']}": [
            score for _, score in sorted(hit["parts"].items())
        ]
        for hit in hits
    }


def same(a: dict[str, list[float]] | None, b: dict[str, list[float]] | None) -> bool:
    """Whether two searches gave the same; vectors depend a little on what was in a batch together."""
    if a is None or b is None or a.keys() != b.keys():
        return False
    pairs = [(x, y) for key in a for x, y in zip(a[key], b[key], strict=True)]
    return all(abs(x - y) <= 1e-2 for x, y in pairs)


def verdict(ended: Ended, right: bool, folders: tuple[Path, ...]) -> str:
    """How a command took the damage."""
    if ended.failure:
        return f"bad: {ended.failure[:160]}"
    if ended.code:
        lines = ended.err.strip().splitlines()
        if len(lines) != 1:
            return f"bad: {len(lines)} lines: {ended.err.strip()[:160]}"
        return (
            "clear error" if any(str(folder) in lines[0] for folder in folders) else f"bad: no file named: {lines[0][:160]}"
        )
    return "right" if right else "bad: another answer without a word"


class Damages:
    """An index and a cache that can be damaged and restored, and the commands that meet them."""

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
        """Index, cache and documents as they were."""
        for folder, copy in ((self.index, "index copy"), (self.cache, "cache copy")):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self.work / copy, folder)
        self.write("octopus.md", TEXTS["octopus.md"], 1000)

    def run(self, *arguments: object) -> Ended:
        ended = run(lambda: command(*arguments))
        assert ended.code == 0, ended.err
        return ended

    def search(self) -> Ended:
        return run(lambda: command("search", QUESTION, "--index", self.index, "-k", 1000, "--json"))

    def files(self) -> list[Path]:
        return sorted(file for folder in (self.index, self.cache) for file in folder.rglob("*") if file.is_file())

    def meet(self, file: Path, kind: str) -> dict[str, str]:
        """Damage a file, run the commands and judge each."""
        self.restore()
        damage(file, kind)
        folders = (self.index, self.cache)
        judge: Callable[[Ended, bool], str] = lambda ended, right: verdict(ended, right, folders)  # noqa: E731
        index = lambda: run(lambda: command("index", self.docs, "--index", self.index))  # noqa: E731
        row: dict[str, str] = {"file": str(file.relative_to(self.work)), "damage": kind}
        ended = self.search()
        row["search"] = judge(ended, same(answer(ended), self.before))
        ended = run(lambda: command("check", "--index", self.index))
        row["check"] = judge(ended, True) if ended.code else "nothing noticed"
        row["index"] = judge(index(), True)
        ended = self.search()
        row["search after it"] = judge(ended, same(answer(ended), self.before))
        self.change()
        row["index of a change"] = judge(index(), True)
        ended = self.search()
        row["search after that"] = judge(ended, same(answer(ended), self.after))
        return row


STEPS = ("search", "check", "index", "search after it", "index of a change", "search after that")


def classify(row: dict[str, str]) -> str:
    """One word for a case."""
    if any(row[step].startswith("bad") for step in STEPS):
        return "bad"
    if row["search after that"] != "right":
        return "named, not mended"
    if row["search"] == "right":
        return "harmless"
    return "named and mended"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/damage"))
    options = parser.parse_args()
    damages = Damages(options.work.absolute())
    rows: list[dict[str, Any]] = []
    for file in damages.files():
        for kind in KINDS if file.stat().st_size else ["deleted"]:
            rows.append(row := damages.meet(file, kind))
            row["class"] = classify(row)
        damages.restore()
        own = Counter(row["class"] for row in rows if row["file"] == str(file.relative_to(damages.work)))
        print(
            f"{file.relative_to(damages.work)!s:<50} " + ", ".join(f"{count} {name}" for name, count in own.most_common()),
            flush=True,
        )
    bad = [row for row in rows if row["class"] == "bad"]
    for row in bad:
        print(
            f"{row['file']}, {row['damage']}: "
            + "; ".join(f"{step}: {row[step][5:]}" for step in STEPS if row[step].startswith("bad"))
        )
    unnoticed = [
        f"{row['file']}, {row['damage']}"
        for row in rows
        if row["check"] == "nothing noticed" and row["file"].startswith("kb")
    ]
    report(
        "damage",
        {
            "cases": len(rows),
            **Counter(row["class"] for row in rows),
            "damaged files of the index that check does not notice": unnoticed,
            "bad": [{name: row[name] for name in ("file", "damage", *STEPS)} for row in bad],
        },
    )


if __name__ == "__main__":
    main()
