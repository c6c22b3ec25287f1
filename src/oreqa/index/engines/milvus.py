"""The engine of a Milvus server, which finds candidates; they are scored here, from the rows that it stores.

Rows never change there, and no id is assigned twice. So a state of an index is all rows up to its last id except those it
lists as dead, and a reader sees one state whatever an update adds or removes meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Floats, Ids, Ints, check_whole
from oreqa.core import UNITS, Unit
from oreqa.errors import IndexStateError, InputError
from oreqa.index.bm25 import BM25_PARAMETERS, Bm25, CollectionWords
from oreqa.index.engines.engine import Scorable
from oreqa.index.engines.milvus_client import connect, missing_collection, named_errors
from oreqa.index.engines.milvus_rows import SCORED, segment_of_rows
from oreqa.index.generations import newest_generation
from oreqa.index.segments import Segment
from oreqa.index.stacked import StackedCodes
from oreqa.visible import counted

STATE, COUNTS, DEAD_IDS = "engine.json", "counts.npy", "dead-ids.npy"
"""The files of a generation stored in Milvus: the collection and counts, texts with each word, and dead rows."""

COLLECTIONS = "collections.json"
"""File in the index's folder with the names of collections that updates have created and not dropped."""

FEWEST_CANDIDATES, MOST_CANDIDATES = 200, 16_384
"""The fewest candidates by vectors and by words requested, and the most that Milvus returns."""

FETCHED, QUESTIONS_AT_ONCE = 500, 8
"""Rows fetched at a time, and questions sent at a time."""


@dataclass(frozen=True, slots=True)
class MilvusCollection:
    """The content of a generation's ``engine.json``: the server and the collection, the dimensions of its vectors, the last
    valid id, and for each unit the number of texts and of their words."""

    uri: str
    name: str
    dim: int
    last: int
    counts: dict[Unit, int]
    lengths: dict[Unit, int]


@dataclass(frozen=True, slots=True, eq=False)
class MilvusState:
    """What a generation's folder records about the rows in Milvus.

    ``texts_with`` has a row ``word, passages, sentences`` for each word, by its number; ``dead`` are the deleted ids.
    """

    collection: MilvusCollection
    texts_with: NDArray[np.int64]
    dead: Ids

    @classmethod
    def read(cls, generation: Path) -> MilvusState:
        """Read the state of a generation."""
        row = json.loads((generation / STATE).read_bytes())
        return cls(MilvusCollection(**row), np.load(generation / COUNTS), np.load(generation / DEAD_IDS))

    def write(self, folder: Path) -> None:
        """Write the state into a draft."""
        (folder / STATE).write_text(json.dumps(asdict(self.collection), indent=1), encoding="utf-8")
        for name, array in ((COUNTS, self.texts_with), (DEAD_IDS, self.dead)):
            np.save(folder / name, array)
            check_whole(folder / name)

    def words(self, unit: Unit) -> CollectionWords:
        """Return what BM25 needs of all texts."""
        texts = self.collection.counts[unit]
        counts = self.texts_with[:, 1 + ("passage", "sentence").index(unit)].astype(np.int32)
        mean = max(self.collection.lengths[unit] / max(texts, 1), 1e-9)
        return CollectionWords(texts, mean, self.texts_with[:, 0].astype(np.int32), counts)

    def filter(self) -> str:
        """Return the filter expression for live rows."""
        up_to_last = f"id <= {self.collection.last}"
        return f"{up_to_last} and not ({among(self.dead)})" if len(self.dead) else up_to_last


def among(ids: Ids) -> str:
    """Return the filter expression for rows with these ids, rising.

    Examples:
        >>> among(np.array([1, 5, 6, 7, 9]))
        'id in [1, 9] or (id >= 5 and id <= 7)'
    """
    starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 2) != 1)
    runs = zip(ids[starts].tolist(), ids[np.append(starts[1:], len(ids)) - 1].tolist(), strict=True)
    single_ids: list[int] = []
    ranges: list[str] = []
    for first, last in runs:
        if last - first < 2:
            single_ids += range(first, last + 1)
        else:
            ranges.append(f"(id >= {first} and id <= {last})")
    return " or ".join([*([f"id in {single_ids}"] if single_ids else []), *ranges])


class MilvusEngine:
    """The engine of a generation's rows in Milvus; ``ids`` returns those of all its passages."""

    def __init__(self, generation: Path, ids: Callable[[], Ids]) -> None:
        self.state, self._ids, self._generation = MilvusState.read(generation), ids, generation
        self._uri = uri = self.state.collection.uri
        self.counts = self.state.collection.counts
        self.words = {unit: self._bm25([], unit) for unit in UNITS if self.counts[unit]}
        self._client = connect(uri)
        with self.named_errors():
            exists = not self.state.collection.name or self._client.has_collection(self.state.collection.name)
        if not exists:
            raise IndexStateError(missing_collection(uri, self.state.collection.name))

    def named_errors(self) -> Any:
        """Turn errors of the client into one line."""
        return named_errors(self._uri, self.state.collection.name)

    def _bm25(self, segments: Sequence[Segment], unit: Unit) -> Bm25:
        parts = [segment.words[unit] for segment in segments]
        return Bm25(parts, *BM25_PARAMETERS[unit], collection=self.state.words(unit))

    def fetch(self, ids: Ids) -> Segment:
        """Fetch the passages with these ids. Raises IndexStateError if Milvus lacks some of the newest state."""
        return segment_of_rows(list(self._rows(ids).values()), self.state.collection.dim)

    def _rows(self, ids: Ids) -> dict[int, dict[str, Any]]:
        rows: dict[int, dict[str, Any]] = {}
        with self.named_errors():
            for begin in range(0, len(ids), FETCHED):
                wanted = ids[begin : begin + FETCHED].tolist()
                rows |= {
                    row["id"]: row
                    for row in self._client.query(self.state.collection.name, ids=wanted, output_fields=["id", *SCORED])
                }
        missing = len(ids) - len(rows)
        if missing and newest_generation(self._generation.parent) == self._generation:
            reason = (
                f"the collection {self.state.collection.name} lacks {counted(missing, 'passage')}; index into a new folder"
            )
            raise IndexStateError(f"{self._uri}: {reason}")
        return rows

    def _scorable(self, segment: Segment) -> Scorable:
        units = [unit for unit in UNITS if len(segment.ids(unit))]
        vectors = {unit: StackedCodes([segment], unit) for unit in units}
        words = {unit: self._bm25([segment], unit) for unit in units}
        ids = segment.passage_ids, segment.sentence_ids
        return Scorable(*ids, segment.sentence_rows, vectors, words)

    def every(self) -> Scorable:
        """Return what the protocol says."""
        return self._scorable(self.fetch(self._ids()))

    def sample(self, count: int) -> Scorable:
        """Return what the protocol says."""
        return self._scorable(self.fetch(self._ids()[:: max(1, -(-self.counts["passage"] // count))]))

    def passages_with(self, number: int, most: int) -> list[int]:
        """Return what the protocol says: passages in which the word has a high weight."""
        (ids,) = self._search("weights", [{number: 1.0}], most, self.state.filter())
        return ids

    def candidates(
        self, vectors: Floats | None, words: Sequence[Ints] | None, count: int, allowed: Ids | None
    ) -> Iterator[Scorable]:
        """Yield what the protocol says, but at least ``FEWEST_CANDIDATES``: many vectors are searched approximately."""
        count = max(count, FEWEST_CANDIDATES)
        if count > MOST_CANDIDATES:
            raise InputError(f"{count:,} passages are asked for; Milvus gives {MOST_CANDIDATES:,} at most")
        questions = len(words if vectors is None else vectors)  # type: ignore[arg-type]
        condition = self.state.filter() if allowed is None else among(allowed) if len(allowed) else ""
        for begin in range(0, questions, QUESTIONS_AT_ONCE):
            place = slice(begin, min(begin + QUESTIONS_AT_ONCE, questions))
            best: list[set[int]] = [set() for _ in range(begin, place.stop)]
            if vectors is not None and condition:
                for ids, question_hits in zip(self._search("vector", vectors[place], count, condition), best, strict=True):
                    question_hits.update(ids)
            if words is not None and condition:
                weights = [self._question_weights(numbers) for numbers in words[place]]
                searched = [number for number, row in enumerate(weights) if row]
                queries = [weights[number] for number in searched]
                for number, ids in zip(searched, self._search("weights", queries, count, condition), strict=True):
                    best[number].update(ids)
            stored = self._rows(np.array(sorted(set().union(*best)), np.int64))
            for question_ids in best:
                rows = [stored[number] for number in question_ids if number in stored]
                yield self._scorable(segment_of_rows(rows, self.state.collection.dim))

    def _question_weights(self, numbers: Ints) -> dict[int, float]:
        """Return the IDF of a question's words, times their number of occurrences."""
        counts = dict(zip(*(part.tolist() for part in np.unique(numbers, return_counts=True)), strict=True))
        words = self.words["passage"]
        return {number: n * words.bound(np.array([number], np.int32), 0) for number, n in counts.items()}

    def _search(self, field: str, queries: Any, count: int, condition: str) -> list[list[int]]:
        """Return the ids of the best rows by a field, for each query."""
        if not len(queries):
            return []
        with self.named_errors():
            hits = self._client.search(
                self.state.collection.name, queries, condition, count, ["id"], anns_field=field, search_params={}
            )
        return [[int(hit["id"]) for hit in question_hits] for question_hits in hits]


def need_rows(client: Any, state: MilvusState) -> None:
    """Raise IndexStateError unless Milvus has as many rows as a state says."""
    uri, name, wanted = state.collection.uri, state.collection.name, state.collection.counts["passage"]
    with named_errors(uri, name):
        (row,) = client.query(name, filter=state.filter(), output_fields=["count(*)"])
    if row["count(*)"] != wanted:
        reason = f"the collection {name} has {row['count(*)']:,} of {wanted:,} passages; index into a new folder"
        raise IndexStateError(f"{uri}: {reason}")


def row_problems(generation: Path) -> list[str]:
    """Return a line if Milvus lacks rows of a generation; none if its passages are in its folder."""
    if not (generation / STATE).is_file():
        return []
    state = MilvusState.read(generation)
    try:
        if state.collection.name:
            need_rows(connect(state.collection.uri), state)
    except IndexStateError as error:
        return [str(error)]
    return []
