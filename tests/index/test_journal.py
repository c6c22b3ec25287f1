"""The journal of an update: a batch that was noted is not encoded again, whatever becomes of the file behind it."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from index_content import assert_same

from oreqa.errors import IndexStateError
from oreqa.index.codes import quantise
from oreqa.index.ingest import index_files
from oreqa.index.journal import _OURS, JOURNAL, KEPT, Journal
from oreqa.index.store import Settings

CODES = {bytes([number]) * 32: quantise(np.full((number, 8), number, np.float32)) for number in (1, 2, 3)}


def filled(folder: Path) -> bytes:
    """Write a journal of CODES, the third in a batch of its own; its bytes."""
    journal = Journal(folder, "encoder")
    *first, last = CODES.items()
    journal.append(dict(first))
    journal.append(dict([last]))
    return (folder / JOURNAL).read_bytes()


def held(folder: Path, encoder: str = "encoder") -> int:
    """How many of CODES a journal that is opened again holds; all must be as they were."""
    journal = Journal(folder, encoder)
    read = journal.read(CODES)
    assert all((codes == CODES[digest]).all() for digest, codes in read.items())
    assert [digest in journal for digest in CODES] == [digest in read for digest in CODES]
    return len(read)


def interrupt(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings | None = None) -> None:
    """End an update before it publishes what it has encoded."""
    with monkeypatch.context() as broken:
        broken.setattr("oreqa.index.writer.publish_draft", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index_files(folder, [library], settings)


def test_a_journal_gives_what_it_was_given(tmp_path: Path) -> None:
    assert held(tmp_path) == 0
    assert not (tmp_path / JOURNAL).exists()
    filled(tmp_path)
    assert held(tmp_path) == 3


@pytest.mark.parametrize(
    ("read", "published", "age", "kept"),
    [
        ((), (), 0, 3),
        ((1, 2), (), 0, 3),
        ((1, 2, 3), (), 0, 0),
        ((1,), (2, 3), 0, 0),
        ((), (), KEPT - 60, 3),
        ((), (), KEPT + 60, 0),
    ],
)
def test_a_journal_ends_when_all_of_it_is_published_or_a_week_later(
    tmp_path: Path, read: tuple[int, ...], published: tuple[int, ...], age: int, kept: int
) -> None:
    filled(tmp_path)
    os.utime(tmp_path / JOURNAL, times=(time.time() - age,) * 2)
    journal = Journal(tmp_path, "encoder")
    journal.read([bytes([number]) * 32 for number in read])
    for _ in range(2):
        journal.end(lambda digest: digest[0] in published)
    assert held(tmp_path) == kept


def test_a_journal_that_is_cut_anywhere_holds_what_is_before_and_goes_on(tmp_path: Path) -> None:
    every, counts = filled(tmp_path), []
    for size in range(len(every)):
        (tmp_path / JOURNAL).write_bytes(every[:size])
        counts.append(held(tmp_path))
        Journal(tmp_path, "encoder").append({b"4" * 32: CODES[b"\1" * 32]})
        assert b"4" * 32 in Journal(tmp_path, "encoder")
        assert held(tmp_path) == counts[-1]
    assert counts == sorted(counts)
    assert set(counts) == {0, 1, 2}


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
def test_a_journal_that_is_damaged_anywhere_holds_what_is_before(tmp_path: Path, bits: int) -> None:
    every = filled(tmp_path)
    for place in range(len(every)):
        damaged = bytearray(every)
        damaged[place] ^= bits
        (tmp_path / JOURNAL).write_bytes(damaged)
        if place < len(_OURS):
            with pytest.raises(IndexStateError, match="oreqa did not write this"):
                held(tmp_path)
            continue
        assert held(tmp_path) < 3
        assert (tmp_path / JOURNAL).stat().st_size <= place


@pytest.mark.parametrize("linked", [False, True])
def test_a_users_file_of_the_name_stays_as_it_is(tmp_path: Path, library: Path, tiny: Path, linked: bool) -> None:
    folder, mine = tmp_path / "kb", tmp_path / "mine"
    index_files(folder, [library], Settings(str(tiny), passage_tokens=40))
    text = filled(tmp_path) if linked else b"Monday: it rained.\n"
    mine.write_bytes(text)
    (folder / JOURNAL).symlink_to(mine) if linked else (folder / JOURNAL).write_bytes(text)
    (library / "owls.txt").write_text("Owls hoot.")
    with pytest.raises(IndexStateError, match=r"kb/journal: oreqa did not write this, and needs the name; rename or delete"):
        index_files(folder, [library])
    assert (folder / JOURNAL).read_bytes() == text
    (folder / JOURNAL).unlink()
    assert index_files(folder, [library]).added == 1


def test_a_journal_of_another_encoder_is_started_over(tmp_path: Path) -> None:
    filled(tmp_path)
    assert held(tmp_path, "encodex") == 0
    assert held(tmp_path) == 0


@pytest.mark.parametrize(("code", "is_kept"), [(errno.EIO, False), (errno.EACCES, True)])
def test_what_the_disk_cannot_read_is_started_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_kept: bool
) -> None:
    filled(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(Journal, "_read", lambda _: (_ for _ in ()).throw(OSError(code, os.strerror(code))))
        if is_kept:
            with pytest.raises(OSError, match="denied"):
                Journal(tmp_path, "encoder")
        else:
            Journal(tmp_path, "encoder")
    assert (tmp_path / JOURNAL).exists() is is_kept


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "none": (lambda data: data, 0),
    "cut": (lambda data: data[:-9], 1),
    "flipped": (lambda data: data[: len(data) // 2] + b"??" + data[len(data) // 2 + 2 :], 5),
    "other": (lambda data: data[: len(_OURS)] + b"another\n", 8),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("update", [False, True])
def test_an_interrupted_run_encodes_again_what_its_journal_lost(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, damage: str, update: bool
) -> None:
    folder, settings = tmp_path / "kb", Settings(str(tiny), passage_tokens=40)
    if update:
        (tmp_path / "other.txt").write_text("Owls hoot.")
        index_files(folder, [tmp_path / "other.txt"], settings)
    interrupt(folder, library, monkeypatch, settings)
    change, lost = DAMAGES[damage]
    (folder / JOURNAL).write_bytes(change((folder / JOURNAL).read_bytes()))
    assert index_files(folder, [library], settings).encoded == lost
    assert not (folder / JOURNAL).exists()
    index_files(tmp_path / "new", [library, *tmp_path.glob("other.txt")], settings)
    assert_same(folder, tmp_path / "new")


def test_another_update_leaves_what_an_interrupted_one_has_encoded_for_a_week(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    index_files(folder, [library], Settings(str(tiny), passage_tokens=40))
    (library / "secret.txt").write_text("Owls hoot.")
    interrupt(folder, library, monkeypatch)
    assert (folder / JOURNAL).is_file()
    (tmp_path / "other.txt").write_text("Larks sing.")
    for _ in range(2):  # the second one finds nothing new
        index_files(folder, [tmp_path / "other.txt"])
        assert (folder / JOURNAL).is_file()
    assert index_files(folder, [library]).encoded == 0
    assert not (folder / JOURNAL).exists()


def test_what_an_interrupted_update_has_encoded_ends_after_a_week(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "kb"
    index_files(folder, [library], Settings(str(tiny), passage_tokens=40))
    (library / "secret.txt").write_text("Owls hoot.")
    interrupt(folder, library, monkeypatch)
    (library / "secret.txt").unlink()
    index_files(folder, [library])
    assert (folder / JOURNAL).is_file()
    os.utime(folder / JOURNAL, times=(time.time() - KEPT - 60,) * 2)
    index_files(folder, [library])
    assert not (folder / JOURNAL).exists()


def test_a_full_disk_is_one_line(tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as broken:
        broken.setattr(Journal, "append", full)
        with pytest.raises(IndexStateError, match=r"cannot be written \(No space left on device\); free some space"):
            index_files(tmp_path / "kb", [library], Settings(str(tiny), passage_tokens=40))
    assert index_files(tmp_path / "kb", [library], Settings(str(tiny), passage_tokens=40)).added == 4
