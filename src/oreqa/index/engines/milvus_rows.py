"""Converts passages to rows of a Milvus collection, and back: vectors, words and codes.

A row has a passage's vector and BM25 weights, by which it is found, and what scores it exactly: the codes and the words of
the passage and of each of its sentences, as base64.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import UNITS, Unit
from oreqa.index.bm25 import BM25_PARAMETERS
from oreqa.index.codes import Codes, code_type, vectors_of
from oreqa.index.postings import Postings, postings_of
from oreqa.index.segments import Segment, segment_of

ELEMENTS, CHARACTERS = 4096, 65_535
"""Milvus' limits for an array, and for a text in it."""

NO_WORD = 0
"""The weight entry of a passage without words, as Milvus requires one; words are numbered from 1."""


def add_fields(schema: Any, types: Any, dim: int) -> None:
    """Add the fields of a row to a pymilvus schema."""
    array_type = {"datatype": types.ARRAY, "max_capacity": ELEMENTS}
    schema.add_field("id", types.INT64, is_primary=True)
    schema.add_field("vector", types.FLOAT_VECTOR, dim=dim)
    schema.add_field("weights", types.SPARSE_FLOAT_VECTOR)
    schema.add_field("sentences", element_type=types.INT64, **array_type)
    for name in ("codes", "words"):
        schema.add_field(name, element_type=types.VARCHAR, max_length=CHARACTERS, **array_type)


SCORED = ["sentences", "codes", "words"]
"""The fields that ``segment_of_rows`` reads."""


def rows_of(segment: Segment, mean: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of a segment without deleted passages; ``mean`` is the mean passage length of the index."""
    words = {unit: _texts(segment.words[unit].postings) for unit in UNITS}
    starts = np.searchsorted(segment.sentence_rows, np.arange(len(segment.passage_ids) + 1))
    vectors = vectors_of(segment.vectors["passage"])
    for row, number in enumerate(segment.passage_ids.tolist()):
        place = slice(int(starts[row]), int(starts[row + 1]))
        codes = [segment.vectors["passage"][row], *segment.vectors["sentence"][place]]
        texts = [words["passage"][row], *words["sentence"][place]]
        yield {
            "id": number,
            "vector": vectors[row],
            "weights": _weights(words["passage"][row], mean),
            "sentences": segment.sentence_ids[place].tolist(),
            "codes": [b64encode(code.tobytes()).decode() for code in codes],
            "words": [b64encode(text.astype("<i4").tobytes()).decode() for text in texts],
        }


def _texts(postings: Postings) -> list[Ints]:
    """Return the words of each text, rising."""
    order = np.argsort(postings.rows, kind="stable")
    numbers = np.repeat(postings.words, np.diff(postings.starts))[order]
    terms = np.repeat(numbers, postings.counts[order])
    return np.split(terms, np.cumsum(postings.lengths)[:-1])


def _weights(words: Ints, mean: float) -> dict[int, float]:
    """Return what each word of a passage adds to BM25, without its IDF, which the question supplies."""
    k1, b = BM25_PARAMETERS["passage"]
    numbers, counts = np.unique(words, return_counts=True)
    weights = counts / (counts + k1 * (1 - b + b * len(words) / mean))
    return dict(zip(numbers.tolist(), weights.tolist(), strict=True)) or {NO_WORD: 1.0}


def segment_of_rows(rows: Sequence[Mapping[str, Any]], dim: int) -> Segment:
    """Return the segment that rows came from, in the order of their ids; empty without rows."""
    rows = sorted(rows, key=lambda row: int(row["id"]))
    sizes = [len(row["sentences"]) for row in rows]
    ids = np.array([row["id"] for row in rows], np.int64)
    sentences = np.array([number for row in rows for number in row["sentences"]], np.int64)
    unit_parts: dict[Unit, slice] = {"passage": slice(0, 1), "sentence": slice(1, None)}
    vectors: dict[Unit, Codes] = {}
    words: dict[Unit, Postings] = {}
    for unit, part in unit_parts.items():
        codes = b"".join(b64decode(text) for row in rows for text in row["codes"][part])
        vectors[unit] = np.frombuffer(codes, code_type(dim))
        texts = [np.frombuffer(b64decode(text), "<i4") for row in rows for text in row["words"][part]]
        lengths = np.array([len(text) for text in texts], np.int64)
        words[unit] = postings_of((np.concatenate([np.zeros(0, np.int32), *texts]), lengths))
    return segment_of(ids, sentences, np.repeat(np.arange(len(rows), dtype=np.int32), sizes), vectors, words)
