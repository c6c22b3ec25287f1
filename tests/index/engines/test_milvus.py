"""An index whose passages Milvus holds answers as one in its folder, through updates, kills, copies and damage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_models import make_model

from oreqa.core import MODES, UNITS, Document
from oreqa.errors import IndexStateError, InputError
from oreqa.index.change_encoder import change_encoder, copy_generation
from oreqa.index.engines import milvus_writing
from oreqa.index.engines.milvus import MilvusEngine, MilvusState
from oreqa.index.engines.milvus_client import connect
from oreqa.index.generations import newest_generation, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.integrity import check_index
from oreqa.index.merging import merge_indexes
from oreqa.index.removal import remove_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings

pytestmark = pytest.mark.system

QUESTIONS = ["Did the fox see dogs?", "rain on day 7", "another", "zzz", "?"]


def documents(count: int, **changed: str) -> list[Document]:
    texts = {f"d{n}": f"The fox number {n} saw {n % 3} dogs. It rained on day {n}." for n in range(count)}
    return [
        Document(key, f"Title {key}", text, fields={"parity": "even" if int(key[1:]) % 2 == 0 else "odd"})
        for key, text in {**texts, **changed}.items()
    ]


def hits(index: Index, **arguments: Any) -> tuple[list[Any], list[float]]:
    """All that searches give: keys and places of sentences, in order, and their scores."""
    places: list[Any] = []
    scores: list[float] = []
    for mode in MODES:
        for unit in UNITS:
            for each in index.search(QUESTIONS, k=60, mode=mode, unit=unit, **arguments):
                places.append([(hit.passage.document_key, hit.sentence.start, hit.passage.text) for hit in each])
                scores += [score for hit in each for score in (hit.score, *hit.scores.values())]
    return places, scores


def assert_same(one: tuple[list[Any], list[float]], other: tuple[list[Any], list[float]]) -> None:
    assert one[0] == other[0]
    assert one[1] == pytest.approx(other[1], abs=1e-5)


@pytest.fixture
def pair(tiny: Path, tmp_path: Path, milvus: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """An index in its folder, and the same in Milvus, each of thirty documents."""
    local, served = tmp_path / "local", tmp_path / "served"
    monkeypatch.setattr("oreqa.index.scoring.EXHAUSTIVE", 0)
    for folder, engine in ((local, None), (served, f"milvus:{milvus}")):
        index_documents(folder, documents(30), Settings(str(tiny), engine=engine))
    yield local, served
    client = connect(milvus)
    for name in client.list_collections():
        client.drop_collection(name)


def assert_alike(local: Path, served: Path) -> None:
    with Index.open(local) as ours, Index.open(served) as theirs:
        assert_same(hits(theirs), hits(ours))
        assert_same(hits(theirs, where={"parity": "odd"}), hits(ours, where={"parity": "odd"}))
        assert theirs.counts() == ours.counts()
        for one, other in zip(ours.score_all(QUESTIONS), theirs.score_all(QUESTIONS), strict=True):
            assert other.tolist() == pytest.approx(one.tolist(), abs=1e-5)
    assert check_index(served) == []


def test_updates(pair: tuple[Path, Path]) -> None:
    assert_alike(*pair)
    for folder in pair:
        index_documents(folder, documents(34, d3="Another fox slept.", d7="It rained. It rained again."))
    assert_alike(*pair)
    for folder in pair:
        assert remove_documents(folder, ["d0", "d33"]) == ["d0", "d33"]
    assert_alike(*pair)
    for folder in pair:
        index_documents(folder, documents(5), prune=True)
        index_documents(folder, documents(5))
    assert_alike(*pair)
    for folder in pair:
        index_documents(folder, [], prune=True)
    assert_alike(*pair)
    for folder in pair:
        index_documents(folder, documents(4))
    assert_alike(*pair)


def test_a_reader_sees_one_state(pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _, served = pair
    write, seen = MilvusState.write, []
    with Index.open(served) as index:
        before = hits(index)

        def look(state: MilvusState, folder: Path) -> None:
            seen.append(hits(index) == before)
            write(state, folder)

        monkeypatch.setattr(MilvusState, "write", look)
        snapshot = index.snapshot()
        index_documents(served, documents(40, d3="Another fox slept."))
        assert seen == [True]
        assert hits(index, snapshot=snapshot) == before
        assert hits(index) != before


def test_a_killed_update_leaves_the_published_state(pair: tuple[Path, Path]) -> None:
    local, served = pair
    with Index.open(served) as index:
        before = hits(index)
    program = (
        "import os, sys\nfrom oreqa import Document, index_documents\nfrom oreqa.index.engines import milvus_writing\n"
        "milvus_writing.need_rows = lambda *_: os.kill(os.getpid(), 9)\n"
        f"index_documents({str(served)!r}, [Document(f'new{{n}}', '', f'A new fox {{n}}.') for n in range(9)])"
    )
    killed = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with Index.open(served) as index:
        assert hits(index) == before
        engine = index.snapshot().engine
        assert isinstance(engine, MilvusEngine)
        (row,) = connect(index.snapshot().settings.engine.removeprefix("milvus:")).query(  # type: ignore[union-attr]
            engine.state.collection.name, filter="id >= 0", output_fields=["count(*)"]
        )
        assert row["count(*)"] == 39  # what was written lies behind the last id
    assert check_index(served) == []
    for folder in pair:
        index_documents(folder, documents(31))
    assert_alike(local, served)


def test_a_first_update_that_is_killed_leaves_no_collection(tiny: Path, tmp_path: Path, milvus: str) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    kb, settings = tmp_path / "kb", Settings(str(tiny), engine=f"milvus:{milvus}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(milvus_writing, "need_rows", stop)
        with pytest.raises(KeyboardInterrupt):
            index_documents(kb, documents(3), settings)
    assert newest_generation(kb) is None
    assert len(connect(milvus).list_collections()) == 1
    index_documents(kb, documents(3), settings)
    (name,) = connect(milvus).list_collections()
    assert name.startswith("oreqa_kb_")
    connect(milvus).drop_collection(name)
    missing = rf"the collection {name} is missing; bring it back, or index into a new folder$"
    with pytest.raises(IndexStateError, match=missing):
        Index.open(kb)
    (problem,) = check_index(kb)
    assert name in problem


def test_another_encoder_takes_a_new_collection(pair: tuple[Path, Path], tmp_path: Path, milvus: str) -> None:
    other = make_model(tmp_path / "other", seed=3)
    for folder in pair:
        assert change_encoder(folder, other) == 30
    assert_alike(*pair)
    assert len(connect(milvus).list_collections()) == 2  # that of the generation before is there as long as it is
    copy_generation(pair[1], tmp_path / "trial")
    with Index.open(tmp_path / "trial") as trial, Index.open(pair[0]) as local:
        assert trial.settings.engine is None
        assert_same(hits(trial), hits(local))


def test_rows_that_are_lost_are_noticed(pair: tuple[Path, Path], milvus: str) -> None:
    _, served = pair
    state = MilvusState.read(require_generation(served))
    connect(milvus).delete(state.collection.name, filter="id in [3, 4]")
    (problem,) = check_index(served)
    assert f"the collection {state.collection.name} has 28 of 30 passages" in problem
    with Index.open(served) as index, pytest.raises(IndexStateError, match=r"lacks 2 passages; index into a new folder$"):
        index.passage_vectors()


def test_what_an_engine_cannot_do_is_refused(pair: tuple[Path, Path], tmp_path: Path, milvus: str) -> None:
    local, served = pair
    with Index.open(served) as index, pytest.raises(InputError, match="Milvus gives 16,384 at most"):
        index.search("fox", 20_000)
    with pytest.raises(IndexStateError, match="it was built without --engine; omit the option"):
        index_documents(local, "A fox.", Settings(Index.open(local).settings.model, engine=f"milvus:{milvus}"))
    with pytest.raises(IndexStateError, match="a server holds its passages; merge what oreqa copy makes of it"):
        merge_indexes(tmp_path / "merged", [served])
