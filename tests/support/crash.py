"""Crashes on purpose: an indexing run kills itself at a chosen write, and goes on in one of four ways.

Nothing here knows how an index is stored. A write is whatever the process does to the files of the index's folder, and two
indexes are the same if every search over them gives the same.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import numpy as np
from tiny_models import make_model

from oreqa.errors import IndexStateError
from oreqa.index import Index, replacing, writer

replacing._KEPT_SECONDS = 0.0  # so that removing a replaced generation is among the writes

Point = tuple[int, bool]
"""Which write a run dies at, and whether it leaves half a file (True) or dies before the write (False)."""

State = dict[str, Any]

WAYS = ("again", "put back", "returned", "other path")

_CHANGES = {"os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_STATEMENTS = {"INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "VACUUM", "COMMIT"}


class Writes:
    """The writes of this process under a folder, in their order. It counts from its making on, until the process ends."""

    def __init__(self, folder: Path, point: Point | None = None) -> None:
        self._folder = folder
        self._point = point
        self._busy = False
        self._statement: tuple[object, ...] = ()
        self.events: list[tuple[str, bool]] = []
        """What each write was, and whether half of it can be left."""
        self._connect, sqlite3.connect = sqlite3.connect, self._traced  # type: ignore[assignment]
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._busy:
            return
        if event == "open":
            path, mode, flags = arguments
            if flags & _WRITING and isinstance(path, str | bytes | os.PathLike):
                whole = bool(flags & os.O_TRUNC) and not str(path).endswith("lock")
                self._write(f"open {{}} {mode or ''}".strip(), path, half=self._half_file if whole else None)
        elif event in _CHANGES:
            folder = arguments[-1] if event in ("os.remove", "os.rmdir") else -1
            self._write(f"{event} {{}}", arguments[0], folder)

    def _write(self, what: str, path: Any, folder: int = -1, half: Callable[[Path], None] | None = None) -> None:
        file = Path(os.fsdecode(path))
        if folder >= 0:  # shutil.rmtree names files within the folder that it has open
            file = Path(f"/proc/self/fd/{folder}").readlink() / file
        file = file.absolute()
        if not file.is_relative_to(self._folder):
            return
        number = len(self.events)
        self.events.append((what.format(file.relative_to(self._folder)), half is not None))
        self._statement = ()
        if self._point and self._point[0] == number:
            if self._point[1] and half:
                self._busy = True
                half(file)
            os.kill(os.getpid(), signal.SIGKILL)

    @staticmethod
    def _half_file(file: Path) -> None:
        file.write_bytes(b"half a f")

    def _traced(self, database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = self._connect(database, *arguments, **options)

        def trace(statement: str) -> None:
            words = statement.split(None, 3)
            if words and words[0].upper() in _STATEMENTS:
                # Equal statements in a row, as of executemany, are one write: they stand in one transaction.
                kind = (id(connection), *words[:3])
                if kind != self._statement:
                    self._write(f"{' '.join(words[:3])} in {{}}", str(database).removeprefix("file:").split("?")[0])
                self._statement = kind

        connection.set_trace_callback(trace)
        return connection


class Library:
    """Documents in the states that the runs meet, at one place: ``show`` puts a state there, with its old times."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.docs, self.other = work / "docs", work / "other"
        self.model = make_model(work / "model")
        before: dict[str, str] = {
            "stays.md": "# Octopus\n\nAn octopus has three hearts. Its blood is blue.\n\n## Arms\n\nIt has eight arms.\n",
            "changes.md": "# Bees\n\nBees dance. The queen lays eggs.\n\n## Drones\n\nDrones have no sting.\n",
            "twin.txt": "A text that stands in two files. It is read once.\n",
            "rows.jsonl": _rows(a="The tent is waterproof.", b="The secret password is swordfish.", c="Boots of leather."),
            "table.csv": "id,title,text\n1,Lamps,The lamp shines for two hours.\n2,Stoves,The stove burns gas.\n",
            "library/one.md": "# Whales\n\nWhales sing songs.\n\n## Depth\n\nThey dive deep.\n",
            "library/two.txt": "Sharks never sleep. They have no bones.\n",
            "library/twin.txt": "A text that stands in two files. It is read once.\n",
        }
        after = {name: text for name, text in before.items() if not name.startswith("library/")} | {
            "changes.md": "# Bees\n\nBees dance. The queen lays 2000 eggs a day.\n\n## Drones\n\nDrones have no sting.\n",
            "rows.jsonl": _rows(a="The tent leaks.", c="Boots of leather.", d="The rope is 60 metres long."),
            "table.csv": "id,title,text\n2,Stoves,The stove burns gas.\n",
            "new.txt": "Moles dig tunnels.\n",
            "news/one.md": "# Foxes\n\nFoxes hunt at night.\n\n## Cubs\n\nCubs play.\n",
            "news/two.txt": "Owls turn their heads. Moles dig tunnels.\n",
        }
        returned = {name: text for name, text in after.items() if not name.startswith("new")} | {
            name: text for name, text in before.items() if name.startswith("library/")
        }
        now = time.time()
        for state, files, age in (("before", before, 1000), ("after", after, 500), ("returned", returned, 500)):
            for name, text in files.items():
                path = work / state / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                written = now - (1000 if before.get(name) == text else age)
                os.utime(path, (written, written))
        self.other.mkdir()
        (self.other / "zebra.txt").write_text("Zebras have stripes.\n")
        os.utime(self.other / "zebra.txt", (now - 1000, now - 1000))
        self.names = sorted(before.keys() | after.keys())

    def show(self, state: str) -> None:
        """Make the documents those of a state, with that state's times."""
        shutil.rmtree(self.docs, ignore_errors=True)
        shutil.copytree(self.work / state, self.docs)

    @property
    def files(self) -> dict[str, Path]:
        """Every file that is there at one time or another."""
        return {name: self.docs / name for name in self.names} | {"other": self.other / "zebra.txt"}


def state_of(index: Path, files: Mapping[str, Path]) -> State:
    """All that searches give: every sentence with its place, what stands around it, and its scores for many questions.

    Beside that the counts, and the documents of files. An index that says that it cannot be searched gives its error.
    """
    try:
        reader = Index.open(index)
    except IndexStateError as error:
        return {"error": str(error), "hits": {}}
    with closing(reader):
        hits: dict[str, list[list[float]]] = {}
        names: set[str] = set()
        for number, found in enumerate(reader.search(_questions(), 1_000_000)):
            for hit in found:
                passage, sentence = hit.passage, hit.sentence
                place = (passage.document_key, passage.title, passage.heading, dict(passage.fields), passage.text,
                         passage.start, sentence.text, sentence.start, sentence.end)  # fmt: skip
                names |= hit.scores.keys()
                scores = [round(hit.scores[name], 5) for name in sorted(hit.scores)]
                hits.setdefault(json.dumps(place, sort_keys=True), []).append([number, *scores])
        paths = {
            name: reader.search(["a"], 1_000_000, mode="sparse", where=[("path", str(file))])[0]
            for name, file in files.items()
        }
        documents = {name: sorted({hit.passage.document_key for hit in found}) for name, found in paths.items()}
        return {"hits": hits, "scores": sorted(names), "counts": reader.counts(), "paths": documents}


def forked_state(index: Path, files: Mapping[str, Path]) -> State:
    """The state as a process of its own sees it. Raises RuntimeError if a search fails."""
    ended = forks.run(lambda: state_of(index, files))
    if ended.code:
        raise RuntimeError(f"search: {ended.failure}")
    return ended.value


def _questions() -> list[str]:
    """Words that the documents hold, one that none does, and random letters: more than a tiny vector has dimensions.

    Their cosines tell any two vectors apart, their BM25 any two bags of words.
    """
    words = "zebrafinch octopus heart blood bees queen sting text file tent password boots lamp gas whale deep shark bone"
    rng = np.random.default_rng(0)
    return words.split() + ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz "), 12)) for _ in range(32)]


def _rows(**texts: str) -> str:
    return "".join(
        json.dumps({"id": key, "title": key.upper(), "text": text, "kind": "ware"}) + "\n" for key, text in texts.items()
    )


def differences(expected: State, state: State) -> list[str]:
    """What two states differ in, a line each."""
    if "error" in expected or "error" in state:
        return [] if "error" in expected and "error" in state else [f"search: {state.get('error', 'it has an answer')}"]
    lines = [f"{what}: {expected[what]} expected, {state[what]} here" for what in ("scores", "counts")
             if expected[what] != state[what]]  # fmt: skip
    lines += [f"documents of {name}: {theirs} expected, {state['paths'][name]} here"
              for name, theirs in expected["paths"].items() if theirs != state["paths"][name]]  # fmt: skip
    # Vectors depend a little on what was in a batch together; all else is exact.
    tolerance = np.array([0, *(1e-2 if name.endswith("cosine") else 1e-4 for name in expected["scores"])])
    for place in sorted(expected["hits"].keys() | state["hits"].keys()):
        name = " ".join(str(json.loads(place)[i]) for i in (0, 6))
        if place not in state["hits"]:
            lines.append(f"missing: {name}")
            continue
        if place not in expected["hits"]:
            lines.append(f"too much: {name}")
            continue
        ours, theirs = np.array(state["hits"][place]), np.array(expected["hits"][place])
        if ours.shape != theirs.shape:
            lines.append(f"found another number of times: {name}")
        elif np.any(np.abs(ours - theirs) > tolerance):
            lines.append(f"other scores: {name}")
    return lines


Command = Sequence[object]
"""The words of a command line."""


def run_command(library: Library, index: Path, command: Command, point: Point | None = None) -> tuple[list[Any], State]:
    """Run a command in this process, which dies at a point if one is given: its writes, and the state that it reached."""
    writer.BATCH_PASSAGES = 2  # small batches, many moments
    writes = Writes(index, point)
    try:
        forks.command(*command, "--index", index)
    except SystemExit as error:
        if error.code:
            raise
    return writes.events, state_of(index, library.files)


def forked_command(library: Library, index: Path, command: Command, point: Point | None = None) -> tuple[list[Any], State]:
    """The same in a process of its own; one that dies has no writes and no state. Raises RuntimeError if it fails."""
    ended = forks.run(lambda: run_command(library, index, command, point))
    if point and ended.killed:
        return [], {}
    if ended.code:
        raise RuntimeError(f"oreqa {' '.join(map(str, command))}: {ended.failure or ended.err.strip()}")
    events, state = ended.value
    return events, state


@dataclass(frozen=True)
class Crash:
    """What came of one crash: the write that it died at, the state right after it and, for every way, what differs."""

    write: str
    after: str
    ways: dict[str, list[str]]


class Crashes:
    """An update, killed at any of its writes. ``first`` is an index's first run; ``flags`` are those of the command."""

    ways: Sequence[str] = WAYS

    def __init__(self, library: Library, *flags: str, first: bool = False) -> None:
        self._library, self._flags, self._first = library, flags, first
        self._start, self._index = library.work / "start", library.work / "index"
        library.show("returned")
        forks.warm_up(lambda: run_command(library, self._start, self.index(library.docs)))
        library.show("before")
        self.begin()
        self._expected: dict[tuple[str, str], list[State]] = {}
        self.writes, new = self._update()
        self._states = {"old": forked_state(self._start, library.files), "new": new}
        assert differences(self._states["old"], new)

    def index(self, path: Path, *flags: str) -> Command:
        """The command that indexes a path."""
        return ("index", path, "--model", self._library.model, "--passage-tokens", 40, *flags)

    def begin(self) -> None:
        """Make the index that the update begins with, of one that holds the state ``returned``."""
        if self._first:
            shutil.rmtree(self._start)
        else:  # two updates leave as many generations as there can be: the third deletes one
            forked_command(self._library, self._start, self.index(self._library.docs, "--prune"))

    @property
    def update(self) -> Command:
        """The command that is killed."""
        return self.index(self._library.docs, *self._flags)

    def commands(self, way: str) -> list[Command]:
        """The commands that go on in a way."""
        self._library.show({"put back": "before", "returned": "returned"}.get(way, "after"))
        if way == "returned":
            return [self.index(self._library.docs)]
        return [*([self.index(self._library.other)] if way == "other path" else []), self.update]

    @property
    def points(self) -> list[Point]:
        """Where to die: before every write, and with half of it done where that can be."""
        return [(number, half) for number, (_, halves) in enumerate(self.writes) for half in (False, True)[: 1 + halves]]

    def crash(self, point: Point, ways: Sequence[str] = ()) -> Crash:
        """Die at a point and go on in each way, or in those that are named."""
        write = self.writes[point[0]][0] + (" (half)" if point[1] else "")
        self._update(point)
        try:
            state = forked_state(self._index, self._library.files)
            after = next((name for name, known in self._states.items() if not differences(known, state)), "")
            after = after or f"neither: {differences(self._states['old'], state)[0]}"
        except RuntimeError as error:
            after = str(error)
        killed = self._library.work / "killed"
        _copy(self._index, killed)
        # Whoever sees neither state may expect what follows from the old one, as nothing new was shown.
        return Crash(
            write, after, {way: self._compare(killed, after if after == "new" else "old", way) for way in ways or self.ways}
        )

    def _compare(self, killed: Path, start: str, way: str) -> list[str]:
        expected = self._expect(start, way)
        _copy(killed, self._index)
        try:
            states = self._go_on(way)
        except RuntimeError as error:
            return [str(error)]
        return [line for a, b in zip(expected, states, strict=True) for line in differences(a, b)]

    def _expect(self, start: str, way: str) -> list[State]:
        """The states that are reached without a crash, from before the update or from after it."""
        if (start, way) not in self._expected:
            if start == "new":
                self._update()
            else:
                _copy(self._start, self._index)
            self._expected[start, way] = self._go_on(way)
        return self._expected[start, way]

    def _go_on(self, way: str) -> list[State]:
        """The states that the commands of a way reach."""
        return [forked_command(self._library, self._index, command)[1] for command in self.commands(way)]

    def _update(self, point: Point | None = None) -> tuple[list[tuple[str, bool]], State]:
        _copy(self._start, self._index)
        self._library.show("after")
        return forked_command(self._library, self._index, self.update, point)


def _copy(index: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    if index.is_dir():
        shutil.copytree(index, to)
