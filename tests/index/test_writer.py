from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from index_content import assert_same, content, old
from tiny_models import make_model

from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import DocumentError, IndexStateError, InputError
from oreqa.index import writer as module
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.writer import open_writer
from oreqa.progress import part_of


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(model=str(tiny), passage_tokens=40)


def test_new_unchanged_changed_removed(tmp_path: Path, library: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    first = index_files(folder, [library], settings)
    assert (first.added, first.changed, first.unchanged, first.problems) == (4, 0, 0, [])
    assert first.passages == 8
    assert first.encoded == 8
    second = index_files(folder, [library])
    assert (second.added, second.unchanged, second.encoded) == (0, 4, 0)
    (library / "octopus.md").write_text((library / "octopus.md").read_text().replace("eight", "8"))
    third = index_files(folder, [library])
    assert (third.changed, third.unchanged, third.encoded) == (1, 3, 1)  # one of its two passages
    (library / "bees.txt").unlink()
    assert (fourth := index_files(folder, [library])).gone == 1
    assert fourth.passages == 8
    fifth = index_files(folder, [library], prune=True)
    assert (fifth.removed, fifth.passages) == (1, 5)
    assert "Bees" not in str(content(folder))
    index_files(tmp_path / "new", [library], settings)
    assert_same(folder, tmp_path / "new")


def test_files_that_did_not_change_are_not_opened(tmp_path: Path, library: Path, settings: Settings) -> None:
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    (library / "octopus.md").write_bytes(b"\0 unreadable")
    os.utime(library / "octopus.md", (time.time() - 100, time.time() - 100))
    report = index_files(tmp_path / "kb", [library])
    assert len(report.problems) == 1  # its size differs
    assert report.unchanged == 3


def test_a_file_that_cannot_be_read_keeps_what_the_index_has(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    before = content(tmp_path / "kb")
    (library / "octopus.md").write_bytes(b"\0\0")
    lines: list[str] = []
    report = index_files(tmp_path / "kb", [library], prune=True, on_problem=lines.append)
    assert report.removed == 0
    assert lines == report.problems
    assert lines[0].startswith(f"{library / 'octopus.md'}: it is a binary file")
    assert content(tmp_path / "kb") == before


def test_strict_publishes_nothing(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "zzz.pdf").write_bytes(b"no pdf")
    with pytest.raises(InputError, match=r"zzz.pdf: .*nothing was published"):
        index_files(tmp_path / "kb", [library], settings, strict=True)
    with pytest.raises(IndexStateError, match="there is no index here"):
        Index.open(tmp_path / "kb")


def test_rows_that_are_gone(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    rows = (library / "rows.jsonl").read_text().splitlines()
    (library / "rows.jsonl").write_text(rows[1] + "\n")
    assert index_files(tmp_path / "kb", [library / "rows.jsonl"], prune=True).removed == 1
    assert "Tents" not in str(content(tmp_path / "kb"))
    assert "Octopus" in str(content(tmp_path / "kb"))  # other files are left alone


def test_an_interrupted_run_goes_on(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    index_files(folder, [library], settings)
    before = content(folder)
    for name in "abcdefgh":
        (library / f"{name}.txt").write_text(f"This is file {name}.")
    monkeypatch.setattr(module, "BATCH_PASSAGES", 2)
    left = [3]

    def interrupt(steps: int) -> None:
        left[0] -= steps
        if left[0] < 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_files(folder, [library], progress=part_of(interrupt))
    assert content(folder) == before
    assert Index.open(folder).search(["octopus"], 1, mode="sparse")[0]
    report = index_files(folder, [library])
    assert report.added == 8
    assert 0 < report.encoded < 8
    index_files(tmp_path / "new", [library], settings)
    assert_same(folder, tmp_path / "new")


def test_a_second_writer_is_reported(tmp_path: Path, library: Path, settings: Settings) -> None:
    with open_writer(tmp_path / "kb", settings), pytest.raises(IndexStateError, match="another process is writing"):
        index_files(tmp_path / "kb", [library], settings)


def test_other_settings_are_refused(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    with pytest.raises(IndexStateError, match="built with --passage-tokens 40, not 99"):
        index_files(tmp_path / "kb", [library], Settings(settings.model, 99))


def test_another_model_under_the_same_name_is_refused(tmp_path: Path, library: Path) -> None:
    model = make_model(tmp_path / "m")
    index_files(tmp_path / "kb", [library], Settings(str(model)))
    model.rename(tmp_path / "old")
    make_model(tmp_path / "m", seed=1)
    with pytest.raises(IndexStateError, match="not the one that made this index"):
        Index.open(tmp_path / "kb").search(["octopus"])
    (library / "new.txt").write_text("New.")
    with pytest.raises(IndexStateError, match="another version of the model"):
        index_files(tmp_path / "kb", [library])


def test_wrong_folders(tmp_path: Path, library: Path, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"it holds 'bees.txt', which is not an index"):
        index_files(library, [library], settings)
    with pytest.raises(InputError, match="it is a file"):
        index_files(library / "bees.txt", [library], settings)
    with pytest.raises(IndexStateError, match="there is no index here"):
        Index.open(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["journal", "draft/notes.txt"])
def test_a_users_file_with_a_name_of_ours_stays(tmp_path: Path, library: Path, settings: Settings, name: str) -> None:
    file = tmp_path / "kb" / name
    file.parent.mkdir(parents=True)
    file.write_text("A diary.")
    with pytest.raises(InputError, match=r"it holds '(journal|draft)', which is not an index"):
        index_files(tmp_path / "kb", [library], settings)
    assert file.read_text() == "A diary."
    assert not (tmp_path / "kb" / "lock").exists()


def test_equal_passages_are_encoded_once(tmp_path: Path, settings: Settings) -> None:
    with open_writer(tmp_path / "kb", settings) as writer:
        for name in ("a", "b"):
            writer.add(
                Document(name, "T", "Same text."), name, [paragraph_passage(Document("z", "", "Zebras have stripes."))]
            )
        with pytest.raises(DocumentError, match="two documents have the key a: rename one of them"):
            writer.add(Document("a", "T", "x"), "a")
        writer.publish()
        assert writer.report.encoded == 1
    assert len(Index.open(tmp_path / "kb").search(["same"], 5)[0]) == 2


def test_an_index_can_become_empty(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    for file in library.iterdir():
        file.unlink()
    assert index_files(tmp_path / "kb", [library], prune=True).passages == 0
    assert Index.open(tmp_path / "kb").search(["octopus"]) == [[]]


def test_readers_see_each_update_whole(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    reader = Index.open(tmp_path / "kb")
    assert reader.counts() == {"documents": 4, "passages": 8, "sentences": 8}
    (library / "new.txt").write_text("Zebras have stripes.")
    with open_writer(tmp_path / "kb") as writer:
        writer.add(
            Document("z", "", "Zebras have stripes."), "z", [paragraph_passage(Document("z", "", "Zebras have stripes."))]
        )
        writer.flush()
        assert not any("Zebra" in hit.sentence.text for hit in reader.search(["zebras"], 9, mode="sparse")[0])
        writer.publish()
    assert reader.search(["zebras"], 1, mode="sparse")[0][0].sentence.text == "Zebras have stripes."


def test_settings_that_cannot_work_leave_nothing_behind(tmp_path: Path, library: Path, settings: Settings) -> None:
    change, reason = {"language": "English"}, "language code"
    with pytest.raises(InputError, match=reason):
        index_files(tmp_path / "kb", [library], replace(settings, **change))
    assert not (tmp_path / "kb").exists()
    index_files(tmp_path / "kb", [library], settings)
    with pytest.raises(InputError, match=reason):
        index_files(tmp_path / "kb", [library], replace(settings, **change))


def test_a_model_without_numbers_leaves_no_folder(tmp_path: Path, library: Path, tiny: Path) -> None:
    import shutil

    import numpy as np
    from safetensors.numpy import load_file, save_file

    from oreqa.errors import ModelError

    model = shutil.copytree(tiny, tmp_path / "nan")
    weights = load_file(tiny / "model.safetensors")
    save_file({name: np.full_like(value, np.nan) for name, value in weights.items()}, model / "model.safetensors")
    with pytest.raises(ModelError, match="NaN or infinite numbers: copy it again, or train it more slowly"):
        index_files(tmp_path / "kb", [library], Settings(model=str(model)))
    assert not (tmp_path / "kb").exists()
