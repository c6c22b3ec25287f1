"""Passages become rows of a collection, and come back as they were."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from oreqa.core import UNITS
from oreqa.index.bm25 import BM25_PARAMETERS, Bm25
from oreqa.index.engines.milvus import among
from oreqa.index.engines.milvus_rows import NO_WORD, rows_of, segment_of_rows
from oreqa.index.in_memory import index_documents
from oreqa.index.segments import Segment, merge_segments, open_segments
from oreqa.index.snapshot import Snapshot, newest_snapshot

TEXTS = ["The fox ran. The fox, a fox, slept.", "Rain fell.", "?!"]


@pytest.fixture
def snapshot(tiny: Path, tmp_path: Path) -> Snapshot:
    index_documents(tmp_path / "kb", TEXTS, model=tiny)
    return newest_snapshot(tmp_path / "kb", None)


@pytest.fixture
def segment(snapshot: Snapshot) -> Segment:
    return merge_segments(open_segments(snapshot.generation))


def test_rows_hold_all_of_a_segment(segment: Segment) -> None:
    rows = list(rows_of(segment, 3.0))
    for row in rows:
        row["vector"] = row["vector"].tolist()
    dim = len(rows[0]["vector"])
    same = segment_of_rows(json.loads(json.dumps(rows[::-1])), dim)
    assert np.array_equal(same.sentence_rows, segment.sentence_rows)
    for unit in UNITS:
        assert np.array_equal(same.ids(unit), segment.ids(unit))
        assert np.array_equal(same.codes(unit), segment.codes(unit))
        ours, theirs = same.words[unit].postings, segment.words[unit].postings
        for name in ("words", "starts", "rows", "counts", "lengths"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert len(segment_of_rows([], dim)) == 0


def test_weights_times_idf_are_bm25(segment: Segment, snapshot: Snapshot) -> None:
    bm25 = Bm25([segment.words["passage"]], *BM25_PARAMETERS["passage"])
    mean = float(segment.words["passage"].postings.lengths.mean())
    numbers = np.array([number for number in snapshot.word_numbers(["fox", "rain", "ran"]).values() if number], np.int32)
    idf = {number: bm25.bound(np.array([number], np.int32), 0) for number in numbers.tolist()}
    products = [sum(row["weights"].get(number, 0) * idf[number] for number in idf) for row in rows_of(segment, mean)]
    assert products == pytest.approx(bm25.scores(numbers).tolist(), rel=1e-6)
    assert list(rows_of(segment, mean))[2]["weights"] == {NO_WORD: 1.0}


def test_ids_become_runs() -> None:
    assert among(np.array([4])) == "id in [4]"
    assert among(np.array([1, 2, 3, 8, 9])) == "id in [8, 9] or (id >= 1 and id <= 3)"
    assert among(np.arange(5, 9)) == "(id >= 5 and id <= 8)"
