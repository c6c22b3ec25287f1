"""One generation opened for reading: all of its files, from opening until it is no longer used."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import Conditions
from oreqa.arrays import Ids
from oreqa.core import UNITS, Passage, Sentence, Unit
from oreqa.errors import IndexStateError, InputError, OreqaError
from oreqa.index import store
from oreqa.index.documents import check_fields, field_filter, stored_passages
from oreqa.index.drafts import count_documents, passage_ids
from oreqa.index.engines.engine import QUANTISED, Engine
from oreqa.index.engines.local import LocalEngine
from oreqa.index.engines.milvus import MilvusEngine
from oreqa.index.fitted import IndexFitted, read_index_fitted
from oreqa.index.generations import (
    DOCUMENTS,
    damage_message,
    damaged_files,
    generation_identity,
    read_error,
    with_newest,
)
from oreqa.index.segments import open_segments
from oreqa.index.store import SQLITE_ERRORS, model_place, read_setting, read_settings
from oreqa.models.fitted import Fitted, encoder_fitted
from oreqa.models.names import FITTED

SAMPLED = 1000
"""Passages from whose vectors their norm is estimated."""


class Snapshot:
    """One generation's files; the ``engine`` finds and scores its passages.

    ``content`` is a hash of the documents. A snapshot without sentences is ``empty``: searches return nothing. Raises
    IndexStateError naming a missing or damaged file. It is closed when nothing uses it any more.
    """

    def __init__(self, generation: Path) -> None:
        self.generation = generation
        if damaged := damaged_files(generation, whole=False):
            raise IndexStateError(damage_message(generation / damaged[0]))
        self.identity = generation_identity(generation)
        self.documents = store.open_documents(generation)
        # SQLite's statements are cached by their text: two threads could bind their parameters to the same one.
        self._one_query = threading.Lock()
        try:
            self._open_files()
        except BaseException:
            self.documents.close()
            raise

    def _open_files(self) -> None:
        with self.reading():
            self.settings = read_settings(self.documents)
            self.fingerprint = read_setting(self.documents, "fingerprint")
            self.content = read_setting(self.documents, "content")
            self.engine = self._open_engine()
            self.empty = self.engine.counts["sentence"] == 0

    def _open_engine(self) -> Engine:
        if self.settings.engine is None:
            return LocalEngine(open_segments(self.generation), self._compounds(), _doubt(self.generation))
        documents, one_query = self.documents, self._one_query

        def ids() -> Ids:
            with one_query:
                return passage_ids(documents)

        return MilvusEngine(self.generation, ids)

    def _compounds(self) -> dict[int, list[int]]:
        """The numbers of the compounds that each word, by number, is part of."""
        compounds = defaultdict(list)
        for number, part in self.documents.execute("SELECT compound, part FROM compounds ORDER BY rowid"):
            compounds[part].append(number)
        return dict(compounds)

    @cached_property
    def square_norms(self) -> dict[Unit, float]:
        """The mean inner product of a stored vector with itself, from ``SAMPLED`` passages; 1 for normalised ones."""
        norms: dict[Unit, float] = dict.fromkeys(UNITS, 1.0)
        sample = self.engine.sample(SAMPLED)
        for unit in sample.vectors:
            norm = float(np.mean(np.sum(sample.all_vectors(unit).astype(np.float64) ** 2, axis=1)))
            norms[unit] = 1.0 if abs(norm - 1) < QUANTISED or not norm else norm
        return norms

    @cached_property
    def fitted(self) -> Fitted:
        """The parameters fitted for the encoder that made the vectors: on this index, or else those that come with it."""
        model_fitted = encoder_fitted(model_place(self.generation.parent, self.settings.model), self.fingerprint)
        return self.index_fitted.over(model_fitted)

    @cached_property
    def index_fitted(self) -> IndexFitted:
        """What was fitted on this index for that encoder."""
        fitted = read_index_fitted(self.generation / FITTED)
        return fitted if fitted.encoder == self.fingerprint else IndexFitted()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Name the damaged file if an error comes from one; let other errors pass."""
        try:
            yield
        except OreqaError:
            raise
        except Exception as error:  # SQLite and numpy each raise their own, of any kind
            if self.generation.is_dir() and (damaged := damaged_files(self.generation)):
                raise IndexStateError(damage_message(self.generation / damaged[0])) from error
            if isinstance(error, SQLITE_ERRORS):
                raise IndexStateError(f"{self.generation / DOCUMENTS}: it cannot be read ({error}); try again") from error
            if isinstance(error, OSError):
                raise read_error(self.generation, error) from error
            raise

    def select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query to the documents; threads take turns."""
        with self._one_query:
            return self.documents.execute(query, values).fetchall()

    def count_documents(self) -> int:
        """Return the number of documents."""
        with self._one_query:
            return count_documents(self.documents)

    def document_keys(self) -> list[str]:
        """Return the key of every document, in passage order."""
        return [key for (key,) in self.select("SELECT key FROM documents ORDER BY id")]

    def has_in_path(self, word: str) -> bool:
        """Return whether the path of a document contains a word in small letters."""
        rows = self.select("SELECT key FROM documents WHERE INSTR(LOWER(key), ?)", (word,))
        return any(word in re.findall(r"[^\W\d_]+", key.lower()) for (key,) in rows)

    def word_numbers(self, stems: Iterable[str]) -> dict[str, int | None]:
        """Return each word's number; None for words in no text of the index: removed words may still have a number."""
        numbers: dict[str, int | None] = {}
        passages = self.engine.words.get("passage")
        with self._one_query:
            for stem in stems:
                row = self.documents.execute("SELECT id FROM terms WHERE term = ?", (stem,)).fetchone()
                numbers[stem] = row[0] if row and passages is not None and passages.texts_with(row[0]) else None
        return numbers

    def similar_terms(self, stem: str, letters: int) -> list[tuple[int, str]]:
        """Return the words, with numbers, that begin like ``stem`` and differ in length by at most ``letters``."""
        query = "SELECT id, term FROM terms WHERE term >= ? AND term < ? AND LENGTH(term) BETWEEN ? AND ?"
        first, lengths = stem[0], (len(stem) - letters, len(stem) + letters)
        return self.select(query, (first, chr(ord(first) + 1), *lengths))

    def allowed(self, where: Conditions) -> Ids | None:
        """Return the ids of the passages of documents that fulfil every condition; None without conditions.

        Raises InputError if there are none because no document has such a field.
        """
        if not where:
            return None
        condition, values = field_filter(where)
        query = f"SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE {condition}"
        with self._one_query:
            try:
                ids = np.fromiter((row[0] for row in self.documents.execute(query, values)), np.int64)
            except sqlite3.OperationalError as error:
                raise InputError(f"a condition cannot be understood ({error})") from error
            if not len(ids):
                check_fields(self.documents, where)
        return ids

    def ids_after(self, passage_id: int, count: int) -> list[int]:
        """Return the ids of the next ``count`` passages after one, in the documents' order; those after 0 are the first."""
        rows = self.select("SELECT id FROM passages WHERE id > ? ORDER BY id LIMIT ?", (passage_id, count))
        return [number for (number,) in rows]

    def section(self, passage_id: int, before: int, after: int) -> dict[int, Passage]:
        """Return a passage and up to ``before`` and ``after`` adjacent ones of its section, by id and in order."""
        rows = self.select("SELECT id FROM passages WHERE id < ? ORDER BY id DESC LIMIT ?", (passage_id, before))
        ids = [*(number for (number,) in reversed(rows)), *self.ids_after(passage_id - 1, after + 1)]
        stored, place = self.passages(ids), ids.index(passage_id)
        wanted = stored[passage_id][0]

        def same(number: int) -> bool:
            passage = stored[number][0]
            return (passage.document_key, passage.heading) == (wanted.document_key, wanted.heading)

        front = list(takewhile(same, reversed(ids[:place])))[::-1]
        return {number: stored[number][0] for number in [*front, *takewhile(same, ids[place:])]}

    def source_of(self, passage_id: int) -> tuple[str, str, int]:
        """Return the source, the key and the id of a passage's document."""
        query = "SELECT source, key, d.id FROM passages JOIN documents AS d ON d.id = document WHERE passages.id = ?"
        with self._one_query:
            source, key, document = self.documents.execute(query, (passage_id,)).fetchone()
            return source, key, document

    def passages_of(self, documents: str | int, where: Conditions, most: int) -> list[Passage]:
        """Return all passages, in order, of a document by id, or of a source's current documents that fulfil ``where``.

        The list is empty if there are more than ``most``.
        """
        condition, values = ("document = ?", [documents]) if isinstance(documents, int) else field_filter(where)
        if isinstance(documents, str):
            condition, values = f"source = ? AND NOT gone AND {condition}", [documents, *values]
        query = f"SELECT passages.id FROM passages JOIN documents ON documents.id = document WHERE {condition} LIMIT ?"
        with self._one_query:
            ids = [row[0] for row in self.documents.execute(query, (*values, most + 1))]
            stored = stored_passages(self.documents, ids) if len(ids) <= most else {}
        return [stored[number][0] for number in sorted(stored)]

    def passages(self, ids: Iterable[int]) -> dict[int, tuple[Passage, dict[int, Sentence]]]:
        """Return passages by id, each with its sentences by id."""
        with self._one_query:
            return stored_passages(self.documents, ids)


def newest_snapshot(folder: Path, before: Snapshot | None) -> Snapshot:
    """Open the newest generation of an index; return ``before`` if it is that one."""

    def opened(generation: Path) -> Snapshot:
        if before and (before.generation, before.identity) == (generation, generation_identity(generation)):
            return before
        return Snapshot(generation)

    return with_newest(folder, opened)


def _doubt(generation: Path) -> Callable[[], None]:
    """Return a function that verifies every file's checksum, once: files are too large to do so at every opening.

    It raises IndexStateError naming a damaged file.
    """
    is_intact = False

    def doubt() -> None:
        nonlocal is_intact
        if not is_intact:
            if generation.is_dir() and (damaged := damaged_files(generation)):
                raise IndexStateError(damage_message(generation / damaged[0]))
            is_intact = True

    return doubt
