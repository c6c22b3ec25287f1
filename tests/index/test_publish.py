"""An update adds a segment with what is new, and shares the others: the index is that of a clean build."""

from __future__ import annotations

import math
import random
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oreqa.core import UNITS, Document
from oreqa.errors import IndexStateError
from oreqa.index import segments, snapshot
from oreqa.index.generations import newest_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.segments import DEAD, FIRST_TIER, LARGEST, RATIO, segments_to_merge
from oreqa.index.store import Settings

DOCUMENTS = [Document(f"{n}", f"Title {n}", f"Owl {n} hoots. It eats word{n % 3}.") for n in range(9)]
QUESTIONS = ["which owl hoots", "word2", "Title 4", "what does the bird eat", "Eulenpaket"]


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(str(tiny), passage_tokens=200)


def segment_folders(folder: Path) -> list[Path]:
    """The segments of the newest generation."""
    generation = newest_generation(folder)
    assert generation is not None
    return sorted(generation.glob("segment-*"))


def answers(folder: Path) -> list[Any]:
    """All hits of all questions, with every score, whatever the ids."""
    with Index.open(folder) as index:
        return [
            [(hit.passage.document_key, hit.sentence.text, hit.score, sorted(hit.scores.items())) for hit in hits]
            for unit in UNITS
            for hits in index.search(QUESTIONS, 99, unit=unit)
        ]


def assert_as_built_at_once(folder: Path, documents: Sequence[Document], settings: Settings, clean: Path) -> None:
    """The index gives what a clean build of the documents, in the index's order, gives: equal scores, to the last bit of BM25."""
    by_key = {document.key: document for document in documents}
    with Index.open(folder) as index:
        assert {passage.document_key for passage in index.passages()} == by_key.keys()
        order = list(dict.fromkeys(passage.document_key for passage in index.passages()))
    index_documents(clean, [by_key[key] for key in order], settings)
    assert_same_answers(answers(folder), answers(clean))


def assert_same_answers(first: Sequence[Any], second: Sequence[Any]) -> None:
    """BM25 is equal, vectors but for the last bits, which depend on what was in a batch together."""
    for ours, theirs in zip(first, second, strict=True):
        assert [row[:2] for row in ours] == [row[:2] for row in theirs]
        for row, other in zip(ours, theirs, strict=True):
            for (name, score), (_, same) in zip(row[3], other[3], strict=True):
                assert score == (same if "bm25" in name else pytest.approx(same, abs=5e-3))


def test_an_update_shares_the_segments_before_it(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    (first,) = segment_folders(folder)
    index_documents(folder, [Document("3", "Title 3", "Owl 3 sleeps. A bird.")])
    shared, new = segment_folders(folder)
    for path in first.iterdir():
        assert path.samefile(shared / path.name)
    assert np.load(shared / DEAD).tolist() == [3]
    assert np.load(new / "passage_ids.npy").tolist() == [10]
    documents = [*(d for d in DOCUMENTS if d.key != "3"), Document("3", "Title 3", "Owl 3 sleeps. A bird.")]
    assert_as_built_at_once(folder, documents, settings, tmp_path / "clean")
    index_documents(folder, documents[:-1], prune=True)
    assert len(segment_folders(folder)) == 1  # nothing of the second one counts
    assert_as_built_at_once(folder, documents[:-1], settings, tmp_path / "less")


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("seed", [1, 2])
def test_many_updates_give_the_index_of_a_clean_build(
    tmp_path: Path, tiny: Path, language: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "FIRST_TIER", 4)
    settings, draw = Settings(str(tiny), passage_tokens=200, language=language), random.Random(seed)
    folder, held, most = tmp_path / "kb", {d.key: d for d in DOCUMENTS}, 0
    index_documents(folder, DOCUMENTS, settings)
    for step in range(14):
        for _ in range(draw.randint(1, 3)):
            key = draw.choice([*held, f"new{step}"])
            if draw.random() < 0.4 and len(held) > 2:
                held.pop(key, None)
            else:
                held[key] = Document(key, "Paket", f"Die Eulen {step} im Paket. Ein Eulenpaket{draw.randint(0, 3)} word1.")
        index_documents(folder, list(held.values()), prune=True)
        most = max(most, len(segment_folders(folder)))
    assert 2 < most < 9
    assert_as_built_at_once(folder, list(held.values()), settings, tmp_path / "clean")


def test_an_id_that_is_given_again_counts_once(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    for text in ("A hawk.", "A kite.", "A hawk."):
        index_documents(folder, DOCUMENTS[:-1], prune=True)  # the last id is free
        index_documents(folder, Document("last", "Last", text))
        assert_as_built_at_once(
            folder, [*DOCUMENTS[:-1], Document("last", "Last", text)], settings, tmp_path / f"clean{random.random()}"
        )


def test_a_segment_of_which_less_than_half_counts_is_written_anew(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    index_documents(folder, DOCUMENTS[4:], prune=True)
    (segment,) = segment_folders(folder)
    assert len(np.load(segment / "passages.npy")) == 9
    index_documents(folder, DOCUMENTS[5:], prune=True)
    (segment,) = segment_folders(folder)
    assert len(np.load(segment / "passages.npy")) == 4
    assert not (segment / DEAD).exists()
    assert_as_built_at_once(folder, DOCUMENTS[5:], settings, tmp_path / "clean")


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files through /proc")
def test_small_segments_keep_no_files_open(tmp_path: Path, settings: Settings) -> None:
    """Systems allow a process 256 or 1,024, and a server answers from many indexes."""
    folder, opened = tmp_path / "kb", Path("/proc/self/fd")
    for number in range(3):
        index_documents(folder, Document(f"{number}", "Owl", "It hoots."), settings)
    before = len(list(opened.iterdir()))
    with Index.open(folder) as index:
        assert index.search("owl", mode="sparse")
        assert len(segment_folders(folder)) == 3
        assert len(list(opened.iterdir())) <= before + 1  # the documents


def test_damage_of_a_shared_segment_is_repaired(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    index_documents(folder, Document("new", "New", "A hawk."))
    expected = answers(folder)
    for place, name, encoded in ((0, "sentences.words.npy", 9), (1, "passages.npy", 1), (0, "passage_ids.npy", 9)):
        damaged = segment_folders(folder)[place] / name
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
        sound = segment_folders(folder)[1 - place] / name
        report = index_documents(folder, [])
        assert report.rebuilt == [f"{damaged.parent.name}/{damaged.name}"]
        assert report.encoded == encoded  # those of the segment, and no others
        assert sound.samefile(segment_folders(folder)[1 - place] / name)
        assert_same_answers(answers(folder), expected)


def test_damage_between_two_segments_is_repaired_where_it_was(tmp_path: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    for begin in range(0, 9, 3):
        index_documents(folder, DOCUMENTS[begin : begin + 3], settings)
    expected, names = answers(folder), [segment.name for segment in segment_folders(folder)]
    assert len(names) == 3
    for documents, encoded in (([], 3), ([Document("new", "New", "A hawk.")], 4)):
        (segment_folders(folder)[1] / "sentences.npy").unlink()
        assert index_documents(folder, documents).encoded == encoded
        index_documents(folder, DOCUMENTS, prune=True)
        assert_same_answers(answers(folder), expected)


def test_what_no_update_wrote_is_left_alone(tmp_path: Path, settings: Settings) -> None:
    """A file manager's notes, and a copy that a person made, are no part of the index."""
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    (first,) = segment_folders(folder)
    (first / ".DS_Store").write_text("x")
    shutil.copytree(first, first.with_name(f"{first.name} copy"))
    hawk = Document("new", "New", "A hawk.")
    index_documents(folder, hawk)
    assert not list(segment_folders(folder)[0].glob(".*"))
    assert_as_built_at_once(folder, [*DOCUMENTS, hawk], settings, tmp_path / "clean")


def test_a_segment_that_is_removed_while_it_is_opened_is_missed(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    index_documents(folder, DOCUMENTS, settings)
    index_documents(folder, Document("new", "New", "A hawk."))
    shutil.rmtree(segment_folders(folder)[1])
    monkeypatch.setattr(snapshot, "damaged_files", lambda generation, whole=True: [])  # it was there a moment ago
    with pytest.raises(IndexStateError, match="missing"):
        Index.open(folder)


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([], range(0)),
        ([1, 1, 1], range(3, 3)),
        ([1, 1, 1, 1], range(4)),
        ([300, 1, 1, 1], range(4, 4)),
        ([300, 1, 1, 1, 1], range(1, 5)),
        ([300, 300, 300, 1], range(4, 4)),
        ([9000, 300, 900, 300, 1, 300], range(1, 6)),
        ([9000, 300, 2000, 300, 1, 300], range(6, 6)),
        ([LARGEST] * 4, range(4)),
        ([LARGEST] * 20, range(16, 20)),
        ([44_000] * 20, range(15, 20)),
        ([LARGEST + 1] * 20, range(20, 20)),
        ([LARGEST + 1, LARGEST, LARGEST, 9000, LARGEST, LARGEST, 1], range(2, 7)),
        ([1, 1, 1, 1, 300], range(4)),
        ([1, 1, 1, 1, LARGEST + 1, 1], range(4)),
        ([1, 1, 1, 1, LARGEST + 1, 1, 1, 1, 1], range(5, 9)),
        ([1, 1, 1, LARGEST + 1], range(4)),
        ([LARGEST + 1, 9000, 1, LARGEST + 1], range(1, 4)),
        ([9000, 1, RATIO * LARGEST - 1], range(1, 3)),
        ([9000, 1, RATIO * LARGEST], range(3, 3)),
    ],
)
def test_segments_of_about_one_size_become_one(sizes: list[int], merged: range) -> None:
    assert segments_to_merge(sizes) == merged


def update(sizes: list[int]) -> int:
    """Merge as a publication does; return the number of passages that it writes for that."""
    written = 0
    while places := segments_to_merge(sizes, RATIO * LARGEST - written):
        sizes[places.start : places.stop] = [sum(sizes[places.start : places.stop])]
        written += sizes[places.start]
    return written


MIXED = [[1, 1, 1, 70_000], [1, 300, 1, 20_000, 70_000], [LARGEST + 1, 16_000], [1, 250_000, 30_000]]


@pytest.mark.parametrize("stream", [[1], [100], [10_000], *MIXED])
def test_segments_stay_few(stream: list[int]) -> None:
    sizes: list[int] = []
    written = 0
    rounds = min(4_000, 2_000_000 // sum(stream))
    for size in stream * rounds:
        sizes.append(size)
        update_size = update(sizes)
        assert update_size <= RATIO * LARGEST
        written += update_size
        assert len(sizes) <= sum(sizes) // LARGEST + 3 * (2 + math.log(max(1, sum(sizes) / FIRST_TIER), RATIO))
    assert sum(sizes) == rounds * sum(stream)
    assert written < (50 if stream == [1] else 10) * sum(sizes)


@pytest.mark.parametrize(("count", "size"), [(100, 10_000), (500, 2_000), (1_000, 300), (22, 44_000)])
def test_the_shards_of_a_merge_become_few_over_updates(count: int, size: int) -> None:
    sizes = [size] * count
    for _ in range(12):
        sizes.append(1)
        assert update(sizes) <= RATIO * LARGEST
    assert len(sizes) <= count * size // LARGEST + 12
