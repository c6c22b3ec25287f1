"""Every engine gives what the protocol says, and scores candidates as it does all passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oreqa.core import UNITS, Document
from oreqa.index.codes import vectors_of
from oreqa.index.engines.engine import Engine
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.snapshot import Snapshot
from oreqa.index.store import Settings

TEXTS = [f"The fox number {number} saw {number % 3} dogs. It rained on day {number}." for number in range(12)]


def documents(texts: list[str] = TEXTS) -> list[Document]:
    return [Document(f"d{number}", f"Title {number}", text) for number, text in enumerate(texts)]


@pytest.fixture(scope="module", params=["local", pytest.param("milvus", marks=pytest.mark.system)])
def index(tiny: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Index]:
    """In four updates, of which the last has replaced a passage."""
    kb = tmp_path_factory.mktemp("kb") / "kb"
    engine = None if request.param == "local" else f"milvus:{request.getfixturevalue('milvus')}"
    changed = documents()
    changed[5] = Document("d5", "Title 5", "Another fox.")
    for texts in (documents()[:4], documents()[:8], documents(), changed):
        index_documents(kb, texts, Settings(str(tiny), engine=engine))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oreqa.index.engines.milvus.FEWEST_CANDIDATES", 1)
        yield Index.open(kb)


def ways(snapshot: Snapshot, index: Index, question: str) -> dict[str, tuple[object, object]]:
    """The arguments of a search for candidates, by what finds them."""
    vectors = index.encoder.encode([question])
    numbers = snapshot.word_numbers(question.lower().split())
    words = [np.array([number for number in numbers.values() if number], np.int32)]
    return {"vectors": (vectors, None), "words": (None, words), "both": (vectors, words)}


def scored(engine: Engine, vectors: object, words: object, count: int, allowed: object = None) -> dict[int, list[float]]:
    """The candidates by their ids, each with its inner product and BM25, from their own rows."""
    (passages,) = engine.candidates(vectors, words, count, allowed)  # type: ignore[arg-type]
    columns = []
    if vectors is not None:
        columns.append(passages.vectors["passage"].inner_products(vectors)[0])  # type: ignore[arg-type]
    if words is not None:
        columns.append(passages.words["passage"].scores(words[0]))  # type: ignore[index]
    rows = np.stack(columns, axis=1).tolist()
    return dict(zip(passages.passage_ids.tolist(), rows, strict=True))


@pytest.mark.parametrize("way", ["vectors", "words", "both"])
def test_candidates_are_the_best_passages(index: Index, way: str) -> None:
    snapshot = index.snapshot()
    engine = snapshot.engine
    vectors, words = ways(snapshot, index, "fox 3 dogs")[way]
    every = scored(engine, vectors, words, 99)
    assert len(every) == engine.counts["passage"] == 12
    best: set[int] = set()
    for column in range(len(next(iter(every.values())))):
        best |= set(sorted(every, key=lambda number: -every[number][column])[:2])
    few = scored(engine, vectors, words, 2)
    assert few.keys() == best
    for number, row in few.items():
        assert row == pytest.approx(every[number], abs=1e-6)
    allowed = np.array(sorted(every)[:3], np.int64)
    assert scored(engine, vectors, words, 99, allowed).keys() == set(allowed.tolist())


def test_words_that_no_text_holds_find_nothing(index: Index) -> None:
    (passages,) = index.snapshot().engine.candidates(None, [np.array([], np.int32)], 5, None)
    assert (len(passages.passage_ids), len(passages.sentence_ids)) == (0, 0)


def test_candidates_have_the_rows_of_all_passages(index: Index) -> None:
    engine = index.snapshot().engine
    every = engine.every()
    (some,) = engine.candidates(index.encoder.encode(["fox 7"]), None, 5, None)
    rows = {unit: np.searchsorted(every.ids(unit), some.ids(unit)) for unit in UNITS}
    for unit in UNITS:
        assert np.array_equal(every.ids(unit)[rows[unit]], some.ids(unit))
        assert np.array_equal(every.all_vectors(unit)[rows[unit]], some.all_vectors(unit))
        one = np.array([1])
        assert np.array_equal(vectors_of(some.vectors[unit].take(one)), some.all_vectors(unit)[one])
    assert np.array_equal(every.passage_ids[every.sentence_rows[rows["sentence"]]], some.passage_ids[some.sentence_rows])
    in_candidates = np.isin(every.passage_ids, some.passage_ids)[every.sentence_rows]
    assert some.sentence_ids.tolist() == every.sentence_ids[in_candidates].tolist()


def test_a_sample_is_spread_over_all_passages(index: Index) -> None:
    engine = index.snapshot().engine
    sample = engine.sample(4)
    assert sample.passage_ids.tolist() == engine.every().passage_ids[::3].tolist()
    assert len(engine.sample(99).passage_ids) == 12


def test_passages_with_a_word(index: Index) -> None:
    snapshot = index.snapshot()
    number = snapshot.word_numbers(["anoth"])["anoth"]
    assert number is not None
    [(passage, _)] = snapshot.passages(snapshot.engine.passages_with(number, 2)).values()
    assert passage.text == "Another fox."
    assert snapshot.engine.words["passage"].texts_with(number) == 1
