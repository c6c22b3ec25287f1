from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from index_content import assert_same, content
from tiny_models import make_model

from oreqa.errors import IndexStateError, ModelError
from oreqa.index import publish
from oreqa.index.change_encoder import change_encoder, copy_generation, publish_fitted, undo_fit
from oreqa.index.encodings import Encodings
from oreqa.index.fitted import IndexFitted
from oreqa.index.generations import newest_generation
from oreqa.index.ingest import index_files
from oreqa.index.journal import JOURNAL
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.fitted import Calibration, Fitted
from oreqa.progress import part_of


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "other", seed=8)


@pytest.fixture
def kb(tmp_path: Path, library: Path, tiny: Path) -> Path:
    index_files(tmp_path / "kb", [library], Settings(model=str(tiny), passage_tokens=40))
    return tmp_path / "kb"


def test_the_index_is_what_the_other_encoder_would_have_made(tmp_path: Path, library: Path, kb: Path, other: Path) -> None:
    before = content(kb)
    with Index.open(kb) as index:
        index.search("hearts")
        encoded: list[int] = []
        assert change_encoder(kb, other, progress=part_of(encoded.append)) == sum(encoded) == 8
        assert index.settings.model == str(other)  # an open index follows
        assert index.search("how many hearts", mode="dense")
    index_files(tmp_path / "new", [library], Settings(model=str(other), passage_tokens=40))
    assert_same(kb, tmp_path / "new")
    assert [row[:-1] for row in content(kb)] == [row[:-1] for row in before]
    again = index_files(kb, [library])
    assert (again.unchanged, again.encoded) == (4, 0)
    (library / "bees.txt").write_text("Bees buzz.\n")
    assert index_files(kb, [library]).encoded == 1
    assert not (kb / JOURNAL).exists()


def test_an_interrupted_change_leaves_the_index_and_resumes(kb: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, generation, calls = content(kb), newest_generation(kb), []
    encode = Encodings.encode

    def interrupted(self: Encodings, passages, encoder, advance) -> None:  # type: ignore[no-untyped-def]
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(len(passages))
        encode(self, passages, encoder, advance)

    monkeypatch.setattr(publish, "BATCH_PASSAGES", 3)
    monkeypatch.setattr(Encodings, "encode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        change_encoder(kb, other)
    assert content(kb) == before
    assert newest_generation(kb) == generation
    monkeypatch.setattr(Encodings, "encode", encode)
    encoded: list[int] = []
    change_encoder(kb, other, progress=part_of(encoded.append))
    assert encoded[0] == 6  # were there already
    assert sum(encoded) == 8
    with Index.open(kb) as index:
        assert index.settings.model == str(other)


def test_what_cannot_be_changed(tmp_path: Path, kb: Path, other: Path) -> None:
    before = content(kb)
    with pytest.raises(ModelError, match="no-such-model"):
        change_encoder(kb, "no-such-model")
    with pytest.raises(IndexStateError, match="there is no index here"):
        change_encoder(tmp_path / "nothing", other)
    assert not (tmp_path / "nothing").exists()
    assert content(kb) == before


def test_an_empty_index(tmp_path: Path, library: Path, kb: Path, other: Path) -> None:
    for file in library.iterdir():
        file.unlink()
    index_files(kb, [library], prune=True)
    assert change_encoder(kb, other) == 0
    with Index.open(kb) as index:
        assert index.search("hearts") == []


def test_a_model_in_the_folder_of_the_index_moves_with_it(tmp_path: Path, library: Path, kb: Path, fitted: Path) -> None:
    shutil.copytree(fitted, kb / "adapted" / "retriever")
    change_encoder(kb, "adapted/retriever")
    moved = kb.rename(tmp_path / "moved")
    with Index.open(moved) as index:
        assert index.search("how many hearts", mode="dense")
        assert index.fitted.fusion
    (library / "bees.txt").write_text("Bees buzz.\n")
    assert index_files(moved, [library]).encoded == 1


def test_what_another_index_has_encoded_is_taken_from_there(tmp_path: Path, kb: Path, library: Path, other: Path) -> None:
    copy_generation(kb, tmp_path / "trial")
    change_encoder(tmp_path / "trial", other)
    (library / "new.txt").write_text("Owls hoot.\n")
    index_files(kb, [library])
    encoded: list[int] = []
    assert change_encoder(kb, other, progress=part_of(encoded.append), encoded=tmp_path / "trial") == 9
    assert encoded == [8, 1]
    index_files(tmp_path / "new", [library], Settings(model=str(other), passage_tokens=40))
    assert_same(kb, tmp_path / "new")


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("oreqa.index.change_encoder.write_manifest", lambda *_: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            copy_generation(kb, tmp_path / "trial")
    assert not list(tmp_path.glob("trial*"))


def test_another_index_by_another_encoder_or_with_damage_gives_what_it_can(
    tmp_path: Path, kb: Path, tiny: Path, other: Path
) -> None:
    copy_generation(kb, tmp_path / "trial")
    encoded: list[int] = []
    change_encoder(kb, other, progress=part_of(encoded.append), encoded=tmp_path / "trial")
    assert encoded[0] == 0
    encoded.clear()
    (file,) = tmp_path.glob("trial/search-*/segment-*/sentences.npy")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    change_encoder(kb, tiny, progress=part_of(encoded.append), encoded=tmp_path / "trial")
    assert encoded[0] == 0


def test_what_was_fitted_is_taken_out_and_nothing_else(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexStateError):
        undo_fit(tmp_path / "none")
    assert not undo_fit(kb)
    before = content(kb)
    with Index.open(kb) as index:
        encoder = index.fingerprint
    fitted = IndexFitted(encoder, {}, {("r", ""): Fitted(calibration=Calibration({"span": 1.0}, 0.5, 0.3))})
    publish_fitted(kb, lambda _: fitted)
    with Index.open(kb) as index:
        assert index.snapshot().index_fitted == fitted
    assert undo_fit(kb)
    with Index.open(kb) as index:
        assert index.snapshot().index_fitted == IndexFitted()
    assert content(kb) == before
    assert not undo_fit(kb)
