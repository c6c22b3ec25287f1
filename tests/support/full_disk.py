"""Indexing runs on a disk that is too small, of any size from nothing to what they need."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from index_content import assert_same_content, content, old
from small_disk import SmallDisk
from tiny_models import make_model

from oreqa.errors import OreqaError
from oreqa.index import replacing
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.store import Settings

replacing._KEPT_SECONDS = 0.0  # a replaced generation is removed at once

_ROOM = 2**26
"""Bytes that are always enough."""

WORDS = ["bee", "tent", "octopus", "lamp", "rope", "river", "stone", "cloud", "owl", "whale"]


@dataclass
class Small:
    """What became of a run on a disk with so much ``room`` in kB: its error, and what else was wrong."""

    room: int
    error: str
    wrong: list[str]


class Disks:
    """Documents, and what their index must hold before and after an update of it."""

    def __init__(self, work: Path) -> None:
        self.docs, self._kept = work / "docs", work / "kept"
        self.docs.mkdir(parents=True)
        self._disk = SmallDisk(work / "disk")
        os.environ["OREQA_CACHE"] = str(work / "cache")
        self.index, draw = self._disk.folder / "kb", random.Random(0)
        self._settings = Settings(model=str(make_model(work / "model")), passage_tokens=40)
        for number in range(30):
            (self.docs / f"{number}.txt").write_text(_text(draw, 40))
        old(self.docs)
        index_files(self._kept, self.docs, self._settings)
        self._before = content(self._kept)
        (self.docs / "3.txt").write_text("It was changed.")
        (self.docs / "new.txt").write_text(_text(draw, 4000))
        (self.docs / "9.txt").unlink()
        old(self.docs)
        shutil.copytree(self._kept, work / "after")
        index_files(work / "after", self.docs, prune=True)
        self._after = content(work / "after")

    def need(self, update: bool) -> int:
        """The room in kB that a run takes in the end; before it takes more."""
        with self._disk.mounted(_ROOM):
            if update:
                shutil.copytree(self._kept, self.index)
            before = self._disk.used()
            self._run()
            return (self._disk.used() - before) // 1024

    def _run(self) -> None:
        index_files(self.index, self.docs, self._settings, prune=True)

    def run(self, update: bool, room: int) -> Small:
        """One run with so much room in kB, then the same with enough."""
        with self._disk.mounted(_ROOM):
            if update:
                shutil.copytree(self._kept, self.index)
            self._disk.resize(self._disk.used() + 1024 * room)
            try:
                self._run()
                error, wrong = "", self._problems(self._after)
            except OreqaError as raised:
                error = str(raised)
                wrong = self._left(update)
            self._disk.resize(_ROOM)
            self._run()
            return Small(room, error, wrong + self._problems(self._after))

    def _left(self, update: bool) -> list[str]:
        """What a run that failed left behind, but must not."""
        wrong = ["a draft"] if (self.index / "draft").exists() else []
        if update:
            return wrong + self._problems(self._before)
        return wrong + [path.name for path in self.index.glob("search-*")]

    def _problems(self, expected: list[tuple[object, ...]]) -> list[str]:
        """What is damaged in the index, or differs from what it must hold."""
        wrong = check_index(self.index)
        try:
            if expected:
                assert_same_content(content(self.index), expected)
        except AssertionError:
            wrong.append("another content")
        return wrong


def _text(draw: random.Random, words: int) -> str:
    return ". ".join(" ".join(draw.choices(WORDS, k=8)) for _ in range(words // 8)) + ".\n"
