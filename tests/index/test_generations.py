"""Damage is noticed, named and mended; readers need no right to write and see one generation whole."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from index_content import content, old
from tiny_models import make_model

from oreqa.errors import IndexStateError, InputError, OreqaError
from oreqa.index import current, generations, integrity, publish, replacing, search, snapshot, store
from oreqa.index.change_encoder import publish_fitted
from oreqa.index.generations import newest_generation, require_generation
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.search import Index
from oreqa.index.store import Settings


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(model=str(tiny), passage_tokens=40)


@pytest.fixture
def folder(tmp_path: Path, library: Path, settings: Settings) -> Path:
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    return tmp_path / "kb"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    place = (
        0 if path.name == generations.MANIFEST else len(data) * 3 // 4
    )  # a checksum in it would be that of a damaged file
    data[place] ^= 0x55
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


DAMAGE = {"flip": flip, "cut": cut, "empty": lambda path: path.write_bytes(b""), "delete": Path.unlink}


@pytest.mark.slow
def test_every_damaged_search_file_is_named_and_rebuilt(folder: Path, library: Path) -> None:
    expected = content(folder)
    names = [n for n in generations.read_manifest(require_generation(folder)) if n != generations.DOCUMENTS]
    assert len(names) > 6
    for name in names:
        for damage in DAMAGE.values():
            path = require_generation(folder) / name
            damage(path)
            with pytest.raises(IndexStateError, match="missing or damaged; rebuild it with: oreqa index PATH") as raised:
                Index.open(folder).search(["octopus arms"], 3)
            assert str(path) in str(raised.value)
            assert len(check_index(folder)) == 1
            report = index_files(folder, [library])
            assert (report.rebuilt, report.encoded, report.unchanged) == ([name], 8, 4)
            assert check_index(folder) == []
    assert content(folder) == expected


@pytest.mark.parametrize("name", [generations.DOCUMENTS, generations.MANIFEST])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_documents_are_named_with_what_to_do(folder: Path, library: Path, damage: str, name: str) -> None:
    (library / "new.txt").write_text("Owls hoot.")
    index_files(folder, [library])
    generation = require_generation(folder)
    DAMAGE[damage](generation / name)
    reason = "missing or damaged; delete the folder .*search-000002, then run.* [(]this updates the state before it, search-000001"
    with pytest.raises(IndexStateError, match=reason):
        index_files(folder, [library])
    assert str(generation / name) in "".join(_problems(folder))
    shutil.rmtree(generation)
    assert index_files(folder, [library]).added == 1
    assert Index.open(folder).search(["owls hoot"], 1, mode="sparse")[0]


def _problems(folder: Path) -> list[str]:
    try:
        return check_index(folder)
    except IndexStateError as error:
        return [str(error)]


@pytest.mark.slow
def test_damage_that_opening_does_not_see_ends_in_no_traceback(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large files are not read whole at every start: what a search stumbles over in them is named.

    What it does not stumble over, a flipped bit of a vector, say, `oreqa check` finds.
    """
    monkeypatch.setattr(generations, "_SMALL", 0)
    encoder = Index.open(folder).encoder
    monkeypatch.setattr(search, "Encoder", lambda *_, **__: encoder)  # loaded once

    def error() -> str | None:
        try:
            Index.open(folder).search(["octopus arms"], 3)
        except OreqaError as problem:
            return str(problem)
        return None

    for name in generations.read_manifest(require_generation(folder)):
        path = require_generation(folder) / name
        before = path.read_bytes()
        for place in range(0, len(before), max(1, len(before) // 25)):
            data = bytearray(before)
            data[place] ^= 0xFF
            path.write_bytes(data)
            problem = error()
            assert problem is None or str(path) in problem
            assert str(path) in "".join(_problems(folder))
        path.write_bytes(before)


@pytest.mark.parametrize(("name", "search", "update"), [
    ("search-000001/manifest.json", "missing or damaged", "missing or damaged"),
    ("search-000001/documents.db", "missing or damaged", "missing or damaged"),
    ("search-000001/segment-000000000001/sentences.npy", "missing or damaged", ""),
    ("journal", "", "oreqa did not write this"),
    ("draft", "", "oreqa did not write this"),
    ("lock", "", ""),
])  # fmt: skip
def test_a_fifo_in_the_place_of_a_file_blocks_nothing(
    folder: Path, library: Path, name: str, search: str, update: str
) -> None:
    (library / "new.txt").write_text("Owls hoot.")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    found = _error(lambda: Index.open(folder).search("octopus", 1, mode="sparse"))
    assert search in found
    assert bool(search) == bool(found)
    assert (name in "".join(_problems(folder))) == (name not in ("journal", "draft", "lock"))
    found = _error(lambda: index_files(folder, [library]))
    assert update in found
    assert bool(update) == bool(found)


def _error(use: Callable[[], object]) -> str:
    try:
        use()
    except OreqaError as problem:
        return str(problem)
    return ""


def test_an_index_is_searched_where_nobody_may_write(folder: Path) -> None:
    expected = [hit.sentence.text for hit in Index.open(folder).search(["octopus arms"], 3)[0]]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        run = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(folder)], capture_output=True, text=True, env={**os.environ}, check=False
        )
        assert run.stdout.splitlines() == expected, run.stderr
        assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")} == before
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


# Root may write everywhere: the search is another user's where it can be.
_AS_NOBODY = """
import os, sys
from dataclasses import replace
from pathlib import Path
from oreqa.index.search import Index
index = Index.open(sys.argv[1])
index.encoder
if os.geteuid() == 0:
    parent = Path(sys.argv[1]).absolute().parent
    for folder in (parent, *parent.parents):
        if folder.stat().st_uid == 0 and str(folder) != "/" and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o011)
    os.setuid(65534)
    index._snapshot = None  # the files are opened once more
for hit in index.search(["octopus arms"], 3)[0]:
    print(hit.sentence.text)
"""


def test_a_word_that_an_update_brings_is_unknown_until_it_is_published(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (library / "zebra.txt").write_text("The zebrafinch sings.")
    index = Index.open(folder)

    def search_and_stop(*_: object) -> None:
        for opened in (index, Index.open(folder)):
            assert [hit.scores["sentence_bm25"] for hit in opened.search(["zebrafinch"], 2)[0]] == [0.0, 0.0]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publish, "build_search_files", search_and_stop)
        with pytest.raises(KeyboardInterrupt):
            index_files(folder, [library])
    assert index.search("zebrafinch", 9, mode="sparse") == []
    index_files(folder, [library])
    assert index.search(["zebrafinch"], 1, mode="sparse")[0][0].sentence.text == "The zebrafinch sings."


def test_a_reader_opens_its_files_at_once(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing, "_KEPT_SECONDS", 0.0)
    index = Index.open(folder)
    expected = index.search(["octopus arms"], 3)
    snapshot = index.snapshot()
    for number in range(3):
        (library / f"{number}.txt").write_text(f"Text {number}.")
        index_files(folder, [library])
    assert not snapshot.generation.exists()
    found = index.search(["octopus arms"], 3, snapshot=snapshot)
    assert [hit.sentence for hit in found[0]] == [hit.sentence for hit in expected[0]]
    assert index.counts()["documents"] == 7


@pytest.mark.slow
def test_a_search_sees_one_generation_whole(tmp_path: Path, settings: Settings) -> None:
    """Two threads search while every document changes its version again and again."""
    texts = tmp_path / "texts"
    texts.mkdir()

    def write(version: int) -> None:
        for number in range(4):
            (texts / f"{number}.txt").write_text(f"Bee number {number} hums in version{version}.")

    write(0)
    folder = tmp_path / "kb"
    index_files(folder, [texts], settings)
    index = Index.open(folder)
    failures: list[object] = []
    searches = 0
    done = threading.Event()

    def search() -> None:
        nonlocal searches
        try:
            while not done.is_set():
                hits = index.search(["bee hums"], 9, mode="sparse")[0]
                versions = {hit.sentence.text.split()[-1] for hit in hits}
                if len(hits) != 4 or len(versions) != 1:
                    failures.append((len(hits), versions))
                searches += 1
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for version in range(1, 6):
        write(version)
        index_files(folder, [texts])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert searches > 5


def test_replaced_generations_are_removed_after_a_while(folder: Path, library: Path) -> None:
    def update(number: int) -> list[str]:
        (library / f"{number}.txt").write_text(f"Text {number}.")
        index_files(folder, [library])
        assert newest_generation(folder) == folder / f"search-00000{number}"
        return [path.name[-1] for path in sorted(folder.glob("search-*"))]

    assert update(2) == ["1", "2"]
    assert update(3) == ["1", "2", "3"]  # replaced a moment ago
    for generation in folder.glob("search-*"):  # an hour passes
        os.utime(generation / "manifest.json", (time.time() - 3600, time.time() - 3600))
    assert update(4) == ["3", "4"]
    for generation in folder.glob("search-*"):  # the clock is put back
        os.utime(generation / "manifest.json", (time.time() + 3600, time.time() + 3600))
    assert update(5) == ["4", "5"]


def test_a_touched_file_rebuilds_no_search_files(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(library / "bees.txt", (time.time() - 50, time.time() - 50))
    monkeypatch.setattr(publish, "build_search_files", lambda *_: pytest.fail("built"))
    assert index_files(folder, [library]).unchanged == 4
    assert check_index(folder) == []
    generation = require_generation(folder)
    assert index_files(folder, [library]).unchanged == 4
    assert require_generation(folder) == generation  # nothing to note: nothing published


def test_a_full_disk_is_one_line_and_the_index_answers_as_before(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = content(folder)
    (library / "new.txt").write_text("Owls hoot.")
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    in_part = OSError("3060 requested and 1520 written")  # as numpy raises it
    for error in (OSError(28, "No space left on device"), in_part, full):
        with monkeypatch.context() as patch:
            patch.setattr(publish, "build_search_files", lambda *_, error=error: (_ for _ in ()).throw(error))
            with pytest.raises(
                IndexStateError, match=r"cannot be written \(.*; searches see the state before this update; free some space"
            ):
                index_files(folder, [library])
        assert content(folder) == expected
        assert not (folder / "draft").exists()
    assert index_files(folder, [library]).added == 1


def test_an_array_without_its_end_is_not_published(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As numpy leaves it on a full disk, without an error."""
    expected, save = content(folder), np.save

    def lose_end(file: Any, array: Any, **options: Any) -> None:
        save(file, array, **options)
        os.truncate(file, Path(file).stat().st_size - 1)

    (library / "new.txt").write_text("Owls hoot.")
    with monkeypatch.context() as patch:
        patch.setattr(np, "save", lose_end)
        with pytest.raises(IndexStateError, match=r"cannot be written \(No space left on device\)"):
            index_files(folder, [library])
    assert content(folder) == expected
    assert index_files(folder, [library]).added == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, -1])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINVAL, errno.ENOTSUP])
def test_what_does_not_reach_the_disk_is_not_published(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch, code: int, number: int
) -> None:
    """A disk that cannot sync at all is none that lost something."""
    expected, loses, syncs = content(folder), code not in (errno.EINVAL, errno.ENOTSUP), []

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        syncs.append(path)
        if not loses or len(syncs) - 1 == number or (number == -1 and path == folder):
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fsync)
    (library / "new.txt").write_text("Owls hoot.")
    if loses:
        with pytest.raises(IndexStateError, match=r"cannot be written \(.*; searches see the state before this update"):
            index_files(folder, [library])
        assert content(folder) == expected
        assert sorted(path.name for path in folder.iterdir()) == ["journal", "lock", "search-000001"]
        assert check_index(folder) == []
        monkeypatch.undo()
    assert index_files(folder, [library]).added == 1


@pytest.mark.parametrize("make", [Path.touch, os.mkfifo, lambda draft: draft.symlink_to("lock")])
def test_what_stands_where_the_draft_goes_is_named_at_once(
    folder: Path, library: Path, make: Callable[[Path], object]
) -> None:
    make(folder / "draft")
    for update in (lambda: index_files(folder, [library]), lambda: publish_fitted(folder, lambda fitted: fitted)):
        with pytest.raises(
            IndexStateError, match="draft: oreqa did not write this, and needs the name; rename or delete it"
        ):
            update()
    assert os.path.lexists(folder / "draft")
    assert Index.open(folder).search(["octopus arms"], 1)


def test_a_disk_that_is_read_only_has_a_remedy(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(current, "lock_file", refuse)
    with pytest.raises(InputError, match=r"[(]Read-only file system[)]; make it writable, or use a folder that is$"):
        index_files(folder, [library])


def test_a_generation_that_is_replaced_while_it_is_opened(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two updates are published between the opening of a generation's files: the newest is opened instead."""
    load = snapshot.open_segments
    checked = integrity.damaged_files

    numbers = itertools.count()

    def publish_twice() -> None:
        monkeypatch.undo()
        monkeypatch.setattr(replacing, "_KEPT_SECONDS", 0.0)
        for number in itertools.islice(numbers, 2):
            (library / f"{number}.txt").write_text(f"Text {number}.")
            index_files(folder, [library])

    def load_late(generation: Path) -> object:
        publish_twice()
        return load(generation)

    monkeypatch.setattr(snapshot, "open_segments", load_late)
    assert Index.open(folder).counts()["documents"] == 6

    def check_late(generation: Path) -> list[str]:
        publish_twice()
        return checked(generation)

    monkeypatch.setattr(integrity, "damaged_files", check_late)
    assert check_index(folder) == []

    def open_half_removed(generation: Path) -> object:
        publish_twice()
        generation.mkdir()  # what a removal that is under way has left
        return opened(generation)

    opened = store.open_documents
    monkeypatch.setattr(store, "open_documents", open_half_removed)
    assert Index.open(folder).counts()["documents"] == 10


def test_an_index_that_was_deleted_and_made_again(folder: Path, library: Path, settings: Settings) -> None:
    index = Index.open(folder)
    assert index.search(["octopus"], 1)[0]
    shutil.rmtree(folder)
    (library / "octopus.md").write_text("# Squid\n\nA squid has ten arms.")
    other = make_model(library.parent / "other", seed=1)
    index_files(folder, [library], Settings(str(other), settings.passage_tokens))
    assert newest_generation(folder) == index.snapshot().generation
    assert index.search(["squid"], 1, mode="sparse")[0][0].sentence.text == "A squid has ten arms."
    assert len(index.search(["squid"], 9, mode="dense")[0]) == index.counts()["sentences"]


def test_a_closed_index_says_so_and_ends_what_it_has_begun(folder: Path) -> None:
    with Index.open(folder) as index:
        scores = index.score_all(["octopus", "bees"], "sparse")
        next(scores)
        assert index.search("octopus", 1, mode="sparse")
    assert len(next(scores)) == 8
    assert repr(index) == f"Index({str(folder)!r}, closed)"
    index.close()
    for use in (index.counts, lambda: index.search("octopus"), lambda: index.encoder, lambda: index.__enter__()):
        with pytest.raises(IndexStateError, match=r"this index was closed; open it again with Index\.open"):
            use()


def test_the_stamp_of_the_content_tells_what_decides_results(
    tmp_path: Path, folder: Path, library: Path, settings: Settings
) -> None:
    fingerprint = Index.open(folder).content_fingerprint
    os.utime(library / "bees.txt", (time.time() - 50, time.time() - 50))
    index_files(folder, [library])
    assert Index.open(folder).content_fingerprint == fingerprint
    index_files(tmp_path / "same", [library], settings)
    assert Index.open(tmp_path / "same").content_fingerprint == fingerprint
    index_files(tmp_path / "other", [library], replace(settings, passage_tokens=60))
    assert Index.open(tmp_path / "other").content_fingerprint != fingerprint
