"""Crashes of the commands that write an index and read no documents: merges and removals."""

from __future__ import annotations

import shutil

from crash import Command, Crashes, State, forked_command, forked_state


class Merges(Crashes):
    """A merge of two shards into a new index, the ``first``, or into one that exists."""

    ways = ("again", "other path")

    def begin(self) -> None:
        work = self._library.work
        shutil.rmtree(self._start)
        for name in ("shards", "third"):
            (work / name).mkdir()
        (work / "third" / "moles.txt").write_text("Moles dig tunnels.\n")
        forked_command(self._library, work / "shards" / "one", self.index(self._library.docs))
        forked_command(self._library, work / "shards" / "two", self.index(self._library.other))
        if not self._first:
            for text in ("Eels are long.", "Eels are not snakes."):
                (work / "third" / "eels.txt").write_text(text)
                forked_command(self._library, self._start, self.index(work / "third" / "eels.txt"))

    @property
    def update(self) -> Command:
        shards = self._library.work / "shards"
        return ("merge", shards / "one", shards / "two")

    def commands(self, way: str) -> list[Command]:
        before = [self.index(self._library.work / "third" / "moles.txt")] if way == "other path" else []
        return [*before, self.update]


class Removals(Crashes):
    """The removal of a document, of whose text nothing may be left however it went on."""

    ways = ("again", "other path")

    @property
    def update(self) -> Command:
        return ("remove", self._library.docs / "rows.jsonl#b")

    def commands(self, way: str) -> list[Command]:
        return [self.update] if way == "again" else [self.index(self._library.other)]

    def _go_on(self, way: str) -> list[State]:
        try:
            states = super()._go_on(way)
        except RuntimeError as error:
            if "no document with this name" not in str(error):  # it was removed when the kill came
                raise
            states = [forked_state(self._index, self._library.files)]
        removed = not any("swordfish" in place for place in states[-1]["hits"])
        left = [path for path in self._index.rglob("*") if path.is_file() and b"swordfish" in path.read_bytes()]
        if removed and left:
            raise RuntimeError(f"removed text is left in {left[0].relative_to(self._index)}")
        return states
