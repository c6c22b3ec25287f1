"""The nearest passages, of segments with and without bits, against a slow obvious version; files of bits in an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oreqa.core import Document
from oreqa.errors import IndexStateError
from oreqa.index import bits, generations, nearest, scoring
from oreqa.index.bits import bits_of
from oreqa.index.codes import quantise, vectors_of
from oreqa.index.generations import newest_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.nearest import NearestPassages
from oreqa.index.postings import postings_of
from oreqa.index.search import Index
from oreqa.index.segments import Segment, segment_of
from oreqa.index.store import Settings

DIM = 40


def segment(vectors: np.ndarray, large: bool, dead: tuple[int, ...] = ()) -> Segment:
    words = postings_of((np.zeros(0, np.int32), np.zeros(len(vectors), np.int64)))
    ids, codes = np.arange(len(vectors)), quantise(vectors)
    part = segment_of(
        ids, ids, ids.astype(np.int32), {"passage": codes, "sentence": codes}, {"passage": words, "sentence": words}
    )
    return replace(part.without(np.array(dead, np.intp)), bits=bits_of(codes) if large else None)


def obvious(parts: list[Segment], question: np.ndarray, count: int, allowed: np.ndarray | None) -> list[int]:
    """The nearest by their codes, of all passages of small segments and those of large ones that differ in fewest bits."""
    codes = np.concatenate([part.codes("passage") for part in parts])
    products = vectors_of(codes) @ question
    large = np.repeat([part.bits is not None for part in parts], [len(part) for part in parts])
    counting = np.ones(len(codes), bool) if allowed is None else allowed
    differing = ((codes["codes"] > 0) != (question > 0)).sum(axis=1)
    large_distances = sorted(differing[large & counting])
    limit = large_distances[min(nearest.NEAREST * count, len(large_distances)) - 1] if large_distances else 0
    places = [place for place in range(len(codes)) if counting[place] and (not large[place] or differing[place] <= limit)]
    return sorted(places, key=lambda place: (-products[place], place))[:count]


def drawn(count: int, seed: int) -> np.ndarray:
    """Vectors of whole numbers, whose products are exact: equal ones are equal wherever they stand."""
    vectors = np.random.default_rng(seed).integers(-127, 128, size=(count, DIM)).astype(np.float32)
    vectors[:, 0] = 127
    return vectors


def never() -> None:
    raise AssertionError("sound bits are doubted")


COLLECTIONS = {
    "large, with dead passages, and small": [segment(drawn(200, 0), True, (0, 7, 199)), segment(drawn(30, 1), False, (3,))],
    "small between large": [segment(drawn(90, 2), True), segment(drawn(5, 3), False), segment(drawn(60, 4), True, (59,))],
    "small alone": [segment(drawn(50, 5), False), segment(drawn(9, 6), False)],
    "large alone": [segment(drawn(150, 7), True)],
    "one passage": [segment(drawn(1, 8), True)],
    "all dead": [segment(drawn(3, 9), True, (0, 1, 2)), segment(drawn(4, 10), True)],
    "equal passages": [
        segment(np.repeat(drawn(2, 11), 20, axis=0), True),
        segment(np.repeat(drawn(2, 11), 3, axis=0), False),
    ],
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("share", [None, 1.0, 0.3, 0.0])
def test_the_nearest_are_those_of_an_obvious_version(name: str, share: float | None) -> None:
    parts, questions = COLLECTIONS[name], drawn(4, 12)
    size = sum(map(len, parts))
    allowed = None if share is None else np.random.default_rng(0).random(size) < share
    for count in (1, 3, 10, size + 1):
        best = [places.tolist() for places in NearestPassages(parts, never).best(questions, count, allowed)]
        assert best == [obvious(parts, question, count, allowed) for question in questions]


def test_bits_leave_far_passages_out() -> None:
    """The nearest of all differs from the question in nearly every bit, and 50 others in none: those alone are compared."""
    question = np.ones((1, DIM), np.float32)
    vectors = np.ones((51, DIM), np.float32)
    vectors[7] = [127, *[-1] * (DIM - 1)]
    assert np.argmax(vectors @ question[0]) == 7
    for large, best in ((True, 0), (False, 7)):
        assert next(NearestPassages([segment(vectors, large)], never).best(question, 1, None)).tolist() == [best]


def test_vectors_that_are_no_numbers_are_refused() -> None:
    (part,) = COLLECTIONS["large alone"]
    codes = part.vectors["passage"].copy()
    codes["scale"] = np.nan
    damaged = replace(part, vectors={"passage": codes, "sentence": codes})
    with pytest.raises(ValueError, match="not a number"):
        list(NearestPassages([damaged], never).best(drawn(1, 0), 3, None))


def test_bits_of_other_vectors_are_doubted() -> None:
    (part,) = COLLECTIONS["large alone"]
    doubted: list[bool] = []
    damaged = replace(part, bits=np.roll(part.bits, 1, axis=1))
    list(NearestPassages([damaged], lambda: doubted.append(True)).best(drawn(1, 0), 3, None))
    assert doubted == [True]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of ten passages are large, and every search takes candidates."""
    monkeypatch.setattr(bits, "FEWEST_VECTORS", 10)
    monkeypatch.setattr(bits, "FEWEST_NUMBERS", 1)
    monkeypatch.setattr(scoring, "EXHAUSTIVE", 0)


def documents(count: int, changed: int = 0) -> list[Document]:
    texts = [f"The fox number {n} saw {n % 7} dogs. It rained on day {n * 31 % 17}." for n in range(count)]
    return [Document(f"d{n}", f"Title {n}", text + " Again." * (n < changed)) for n, text in enumerate(texts)]


def bit_files(kb: Path) -> list[Path]:
    generation = newest_generation(kb)
    assert generation is not None
    return sorted(generation.glob("*/*.bits.npy"))


@pytest.mark.usefixtures("large")
def test_scores_are_those_of_a_search_of_every_passage(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index_documents(tmp_path / "kb", documents(60), Settings(str(tiny)))
    index_documents(tmp_path / "kb", documents(60, 5))
    assert len(bit_files(tmp_path / "kb")) == 1
    with Index.open(tmp_path / "kb") as index:
        for where in ((), {"title": [f"Title {n}" for n in range(0, 60, 3)]}):
            few = {hit.sentence_id: hit.scores for hit in index.search("fox 3 dogs", 5, where=where)}
            with monkeypatch.context() as patch:
                patch.setattr(scoring, "EXHAUSTIVE", 1000)
                every = {hit.sentence_id: hit.scores for hit in index.search("fox 3 dogs", 200, where=where)}
            assert len(few) == 5
            for number, scores in few.items():
                assert scores == pytest.approx(every[number], abs=1e-5)


def test_an_index_without_bits_is_searched_and_gets_them(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "EXHAUSTIVE", 0)
    index_documents(tmp_path / "kb", documents(30), Settings(str(tiny)))
    assert not bit_files(tmp_path / "kb")
    monkeypatch.setattr(bits, "FEWEST_VECTORS", 10)
    monkeypatch.setattr(bits, "FEWEST_NUMBERS", 1)
    with Index.open(tmp_path / "kb") as index:
        before = index.search("fox 3 dogs", 3)
        index_documents(tmp_path / "kb", Document("new", "", "A cat slept."))
        assert [hit.sentence for hit in index.search("fox 3 dogs", 3)] == [hit.sentence for hit in before]
    index_documents(tmp_path / "clean", documents(30), Settings(str(tiny)))
    (derived,), (clean,) = bit_files(tmp_path / "kb"), bit_files(tmp_path / "clean")
    assert derived.read_bytes() == clean.read_bytes()
    index_documents(tmp_path / "kb", Document("newer", "", "A cat ran."))
    assert [path.samefile(derived) for path in bit_files(tmp_path / "kb")] == [True]


@pytest.mark.usefixtures("large")
def test_damaged_bits_are_noticed_and_repaired_without_encoding(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generations, "_SMALL", 0)  # as a large file, of which no checksum is computed when it is opened
    index_documents(tmp_path / "kb", documents(30), Settings(str(tiny)))
    (path,) = bit_files(tmp_path / "kb")
    sound = path.read_bytes()
    with Index.open(tmp_path / "kb") as index:
        index.search("fox 3 dogs", 3)
    path.write_bytes(sound[:-200] + bytes(255 - byte for byte in sound[-200:]))
    with Index.open(tmp_path / "kb") as index, pytest.raises(IndexStateError, match=r"passages\.bits\.npy"):
        index.search("fox 3 dogs", 3)
    report = index_documents(tmp_path / "kb", Document("new", "", "A cat slept."))
    assert report.encoded == 1
    assert [file.read_bytes() for file in bit_files(tmp_path / "kb")] == [sound]
