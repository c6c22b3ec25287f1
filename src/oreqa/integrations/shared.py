"""Shared by the adapters: an index opened on first use, the metadata of hits, and the error for a missing extra."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from oreqa.arguments import Where, as_index_folder, choice, conditions, count
from oreqa.as_json import place_json
from oreqa.core import MODES, Hit, Mode
from oreqa.errors import InputError
from oreqa.index.search import Index


def missing_extra(error: ModuleNotFoundError, package: str, name: str, extra: str) -> InputError:
    """Return the error for a framework's ``package`` that is not installed, with the command that installs it.

    ``name`` is the package's name for installers. If another module is missing, its error is raised unchanged.
    """
    if (error.name or "").partition(".")[0] != package:
        raise error
    return InputError(f"oreqa.integrations.{extra.replace('-', '_')} needs {name}: pip install 'oreqa[{extra}]'")


class SharedIndex:
    """The index in a folder, opened on the first search, or an opened one. Threads share it."""

    def __init__(self, index: str | Path | Index) -> None:
        self.folder = index.folder if isinstance(index, Index) else as_index_folder(index)
        self._index, self._lock = index if isinstance(index, Index) else None, threading.Lock()

    def open(self, mode: Mode) -> Index:
        """Return the index, with its model loaded if ``mode`` needs one. Raises IndexStateError if there is none."""
        with self._lock:
            if self._index is None:
                self._index = Index.open(self.folder)
            if mode != "sparse":
                _ = self._index.encoder
            return self._index

    def passages(self, question: str, k: int, mode: Mode, where: Where) -> list[Hit]:
        """Return the ``k`` best passages. Raises InputError like ``check_search``, and for an empty question."""
        return self.open(mode).search(question, k, mode=mode, unit="passage", where=where)


def check_search(k: int, mode: str, where: Where, name: str = "the number of hits") -> None:
    """Raise InputError for settings with which no search could succeed, before the first search."""
    count(k, name)
    choice(mode, MODES, "mode")
    conditions(where)


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """Return the fields of a hit's document, and the location of the passage and its best sentence.

    ``start`` and ``end`` are characters of the document's text, ``page`` and ``line`` the sentence's; either may be None.
    """
    passage, sentence = hit.passage, hit.sentence
    place = place_json(passage, sentence.start, sentence.end)
    return {
        **passage.fields,
        "key": passage.document_key,
        "title": passage.title,
        "heading": passage.heading,
        "page": place["page"],
        "line": place["line"],
        "start": passage.start,
        "end": passage.end,
        "sentence": sentence.text,
        "sentence_start": sentence.start,
        "sentence_end": sentence.end,
    }
