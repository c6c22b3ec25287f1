"""Updates an index whose passages are in Milvus.

It adds rows after the last id of the published state, where no reader sees them; the generation that lists them is
published by renaming its folder, like every generation. A killed update leaves rows after the last id; the next update
deletes them, and those that the published state lists as dead.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ids
from oreqa.core import UNITS, Unit
from oreqa.files import write_json
from oreqa.index.engines.milvus import (
    COLLECTIONS,
    FETCHED,
    STATE,
    MilvusCollection,
    MilvusEngine,
    MilvusState,
    among,
    need_rows,
)
from oreqa.index.engines.milvus_client import connect, named_errors
from oreqa.index.engines.milvus_rows import add_fields, rows_of
from oreqa.index.postings import live_words
from oreqa.index.segments import Segment
from oreqa.index.store import chunks

_COLUMNS: dict[Unit, int] = {"passage": 0, "sentence": 1}


class _Tally:
    """Counts texts with each word, all texts and their words, as segments are added and removed."""

    def __init__(self, before: MilvusState | None) -> None:
        self.counts: dict[Unit, int] = dict(before.collection.counts) if before else dict.fromkeys(UNITS, 0)
        self.lengths: dict[Unit, int] = dict(before.collection.lengths) if before else dict.fromkeys(UNITS, 0)
        self._tables = [before.texts_with] if before else []

    def add(self, segment: Segment, sign: int) -> None:
        """Add a segment to the counts, or with -1 subtract it."""
        for unit, column in _COLUMNS.items():
            part = segment.words[unit]
            numbers, counts = live_words(part)
            table = np.zeros((len(numbers), 3), np.int64)
            table[:, 0], table[:, 1 + column] = numbers, sign * counts
            self._tables.append(table)
            self.counts[unit] += sign * len(part)
            self.lengths[unit] += sign * int(part.postings.lengths.sum(dtype=np.int64))
        if len(self._tables) > 100:
            self._tables = [self.texts_with()]

    def texts_with(self) -> NDArray[np.int64]:
        """Return a row for each word in some text: its number, passages, sentences."""
        every = np.concatenate([np.zeros((0, 3), np.int64), *self._tables])
        numbers, inverse = np.unique(every[:, 0], return_inverse=True)
        table = np.zeros((len(numbers), 3), np.int64)
        np.add.at(table, inverse, every)
        table[:, 0] = numbers
        return table[table[:, 1:].any(axis=1)]


def write_rows(
    folder: Path,
    uri: str,
    before: MilvusEngine | None,
    removed: Ids,
    last: int,
    segments: Iterator[Segment],
    mean: Callable[[], float],
) -> MilvusState:
    """Write the rows of new ``segments``, up to the id ``last``, and the state into the draft ``folder``; return it.

    Without a state ``before``, a new collection is created; otherwise its ids in ``removed`` become dead. ``mean`` returns
    the mean length of new passages.
    """
    client, tally = connect(uri), _Tally(before.state if before else None)
    name, dim, dead = "", 0, removed[:0]
    with named_errors(uri):
        _drop_unneeded(folder.parent, client)
        if before is not None:
            name, dim = before.state.collection.name, before.state.collection.dim
            _clear(client, before.state)
            dead = np.sort(removed[removed <= before.state.collection.last])
            for begin in range(0, len(dead), FETCHED):
                tally.add(before.fetch(dead[begin : begin + FETCHED]), -1)
        usual = 0.0
        for segment in segments:
            if not name:
                dim = segment.vectors["passage"].dtype["codes"].shape[0]
                name = _create(folder.parent, client, dim)
            usual = usual or _mean(tally, mean())
            tally.add(segment, 1)
            for rows in chunks(rows_of(segment, usual), FETCHED):
                client.insert(name, rows)
        state = MilvusState(MilvusCollection(uri, name, dim, last, tally.counts, tally.lengths), tally.texts_with(), dead)
        if name:
            client.flush(name)
            need_rows(client, state)
    state.write(folder)
    return state


def _mean(tally: _Tally, new_mean: float) -> float:
    """Return the mean passage length for the weights of words: that of the previous state if it has passages."""
    texts = tally.counts["passage"]
    return tally.lengths["passage"] / texts if texts and tally.lengths["passage"] else new_mean


def _create(folder: Path, client: Any, dim: int) -> str:
    """Create a collection, whose name the folder records first. Each search sees all that was written before it."""
    from pymilvus import DataType

    label = "".join(c if c.isascii() and c.isalnum() else "_" for c in folder.absolute().name)[:40]
    name = f"oreqa_{label}_{secrets.token_hex(8)}"
    write_json(folder / COLLECTIONS, [*_names(folder), name])
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    add_fields(schema, DataType, dim)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="AUTOINDEX", metric_type="IP")
    indexes.add_index("weights", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection(name, schema=schema, index_params=indexes, consistency_level="Strong")
    return name


def _names(folder: Path) -> list[str]:
    path = folder / COLLECTIONS
    return [str(name) for name in json.loads(path.read_bytes())] if path.is_file() else []


def _clear(client: Any, state: MilvusState) -> None:
    """Delete the rows that a published state does not count: those of a killed update, and dead ones."""
    name = state.collection.name
    if name:
        client.delete(name, filter=f"id > {state.collection.last}")
        if len(state.dead):
            client.delete(name, filter=among(state.dead))


def _drop_unneeded(folder: Path, client: Any) -> None:
    """Drop the collections that an index has created and that none of its generations names."""
    if names := _names(folder):
        states = [json.loads(path.read_bytes()) for path in folder.glob(f"search-*/{STATE}")]
        needed = {state["name"] for state in states}
        for name in names:
            if name not in needed:
                client.drop_collection(name)
        write_json(folder / COLLECTIONS, [name for name in names if name in needed])
