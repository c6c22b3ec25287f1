"""The memo of encodings: a damaged one costs time alone, whatever of it is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from index_content import assert_same_content, content, old

from oreqa.errors import IndexStateError
from oreqa.index.current import check_index
from oreqa.index.ingest import index_files
from oreqa.index.memo import is_sealed, sound_terms
from oreqa.index.search import Index
from oreqa.index.store import Settings


@pytest.fixture
def folder(tmp_path: Path, library: Path, tiny: Path) -> Path:
    old(library)
    index_files(tmp_path / "kb", [library], Settings(model=str(tiny), passage_tokens=40))
    return tmp_path / "kb"


def _put(place: int, value: bytes) -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + value + data[place + len(value) :]


def _in_the_index(data: bytes) -> bytes:
    """A hash changed where SQLite looks it up, not in its row: a quick check does not notice."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(_put(18, b"\1\1")(data))  # in memory there is no log
        (digest,) = database.execute("SELECT hash FROM encodings").fetchone()
    for place in (place for place in range(len(data)) if data.startswith(digest, place)):
        changed = _put(place, bytes(32))(data)
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(_put(18, b"\1\1")(changed))
            quick, whole = (database.execute(f"PRAGMA {name}_check").fetchone() for name in ("quick", "integrity"))
        if quick == ("ok",) != whole:
            return changed
    raise AssertionError("no hash is in an index alone")


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-9],
    "a page": _put(4096, b"\xff" * 512),
    "a word": lambda data: data.replace(b"octopus", b"octopur"),
    "a word that is no UTF-8": lambda data: data.replace(b"octopus", b"octop\xbes"),
    "a schema that is no UTF-8": lambda data: data.replace(b"CREATE TABLE terms", b"CREATE TABL\xbe terms"),
    "the name of a column": lambda data: data.replace(b"updates INTEGER", b"updatez INTEGER"),
    "a version for reading alone": _put(18, b"\xff"),
    "a version that is not known": _put(19, b"\xff"),
    "an index": _in_the_index,
}


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_memo_costs_time_alone(folder: Path, library: Path, damage: str, changed: bool) -> None:
    expected, memo = content(folder), folder / "encodings.db"
    sound = memo.read_bytes()
    memo.write_bytes(DAMAGES[damage](sound))
    assert memo.read_bytes() != sound
    assert "encodings.db: it is damaged (" in check_index(folder)[0]
    if changed:
        (library / "new.txt").write_text("Owls hoot.")
    report = index_files(folder, [library])
    assert (report.added, report.mended) == (int(changed), ["encodings.db"])
    assert check_index(folder) == []
    assert_same_content([row for row in content(folder) if "new.txt" not in row[0]], expected)
    assert Index.open(folder).search(["octopus"], 1, mode="sparse")[0][0].score > 0
    again = index_files(folder, [library])
    assert (again.encoded, again.mended) == (0, [])


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("value", ["zeroblob(LENGTH(vectors))", "'a text'", "1.5"])
def test_a_damaged_row_is_encoded_again(folder: Path, library: Path, value: str, changed: bool) -> None:
    expected = content(folder)
    with closing(sqlite3.connect(folder / "encodings.db")) as database, database:
        database.execute(f"UPDATE encodings SET vectors = {value} WHERE rowid = 1")
    assert "it is damaged (1 of its rows)" in check_index(folder)[0]
    if changed:
        (library / "new.txt").write_text("Owls hoot.")
    report = index_files(folder, [library])
    assert (report.encoded, report.mended) == (1 + changed, ["encodings.db"])
    assert check_index(folder) == []
    assert_same_content([row for row in content(folder) if "new.txt" not in row[0]], expected)


def test_a_damaged_row_that_no_generation_uses_is_dropped(folder: Path, library: Path) -> None:
    with closing(sqlite3.connect(folder / "encodings.db")) as database, database:
        database.execute("INSERT INTO encodings SELECT x'00', vectors, terms, lengths, crc + 1 FROM encodings LIMIT 1")
        database.execute("INSERT INTO unpublished VALUES (x'00', 0)")
    assert check_index(folder)
    assert index_files(folder, [library]).encoded == 0
    assert check_index(folder) == []


@pytest.mark.parametrize("lose", [Path.unlink, lambda memo: memo.write_bytes(b"")])
def test_a_memo_that_is_gone_is_said_and_costs_time_alone(
    folder: Path, library: Path, lose: Callable[[Path], object]
) -> None:
    expected = content(folder)
    lose(folder / "encodings.db")
    (problem,) = check_index(folder)
    assert problem.startswith(f"{folder}/encodings.db: it was emptied or deleted; ")
    assert index_files(folder, [library]).mended == []
    assert check_index(folder) == []
    (library / "new.txt").write_text("Owls hoot.")
    assert index_files(folder, [library]).added == 1
    assert_same_content([row for row in content(folder) if "new.txt" not in row[0]], expected)


def _seal(folder: Path) -> Path:
    return folder / "encodings.db-crc"


def test_an_update_that_ends_seals_the_memo(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memo = folder / "encodings.db"
    assert is_sealed(memo)
    (library / "new.txt").write_text("Owls hoot.")
    with monkeypatch.context() as broken:
        broken.setattr("oreqa.index.writer.publish_draft", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index_files(folder, [library])
    assert not is_sealed(memo)
    assert check_index(folder) == []
    assert index_files(folder, [library]).encoded == 0
    assert is_sealed(memo)


CODES = {
    sqlite3.SQLITE_IOERR_READ: True,
    sqlite3.SQLITE_IOERR_SHORT_READ: True,
    sqlite3.SQLITE_IOERR_CORRUPTFS: True,
    sqlite3.SQLITE_IOERR_WRITE: False,
    sqlite3.SQLITE_IOERR_FSYNC: False,
    sqlite3.SQLITE_FULL: False,
}


@pytest.mark.parametrize("code", CODES)
def test_what_the_disk_cannot_read_is_damage_and_a_disk_that_cannot_be_written_is_not(
    folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    expected, memo, read = content(folder), folder / "encodings.db", sound_terms
    first = folder.with_name("first")
    first.hardlink_to(memo)

    def broken(database: sqlite3.Connection) -> list[str]:
        if memo.samefile(first):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = code
            raise error
        return read(database)

    monkeypatch.setattr("oreqa.index.memo.sound_terms", broken)
    monkeypatch.setattr("oreqa.index.encodings.sound_terms", broken)
    _seal(folder).unlink()
    problem = "it is damaged (OperationalError: disk I/O error)" if CODES[code] else "it cannot be read now"
    assert problem in check_index(folder)[0]
    (library / "new.txt").write_text("Owls hoot.")
    if CODES[code]:
        report = index_files(folder, [library])
        assert (report.added, report.mended) == (1, ["encodings.db"])
        assert_same_content([row for row in content(folder) if "new.txt" not in row[0]], expected)
    else:
        with pytest.raises(IndexStateError, match="free some space or make it writable"):
            index_files(folder, [library])
        assert memo.samefile(first)


def test_a_memo_that_cannot_be_read_at_all_is_damage(folder: Path, library: Path) -> None:
    (folder / "encodings.db").unlink()
    (folder / "encodings.db").symlink_to("/proc/self/mem")  # a regular file whose first byte gives EIO
    assert "encodings.db: it is damaged (" in check_index(folder)[0]
    (library / "new.txt").write_text("Owls hoot.")
    report = index_files(folder, [library])
    assert (report.added, report.mended) == (1, ["encodings.db"])
    assert check_index(folder) == []


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[" * 100_000, b"\xff"])
def test_a_seal_that_is_damaged_is_written_again(folder: Path, library: Path, content: bytes | None) -> None:
    before = _seal(folder).read_bytes()
    _seal(folder).unlink() if content is None else _seal(folder).write_bytes(content)
    damage = [
        f"{_seal(folder)}: it is damaged; encodings.db is sound, and gets a new one by: oreqa index PATH --index {folder}"
    ]
    assert check_index(folder) == ([] if content is None else damage)
    assert not is_sealed(folder / "encodings.db")
    assert index_files(folder, [library]).mended == []
    assert _seal(folder).read_bytes() == before


def test_a_log_beside_the_memo_is_read_whatever_its_seal_says(folder: Path, library: Path) -> None:
    memo = folder / "encodings.db"
    with closing(sqlite3.connect(memo, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("UPDATE encodings SET vectors = zeroblob(LENGTH(vectors)) WHERE rowid = 1")
        log = memo.with_name("encodings.db-wal").read_bytes()
        data = memo.read_bytes()
    memo.write_bytes(data)  # as a kill leaves it
    assert is_sealed(memo)
    memo.with_name("encodings.db-wal").write_bytes(log)
    assert "it is damaged (1 of its rows)" in check_index(folder)[0]
    assert index_files(folder, [library]).mended == ["encodings.db"]
    assert check_index(folder) == []


def test_an_update_after_a_kill_seals_the_memo(folder: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memo = folder / "encodings.db"
    with closing(sqlite3.connect(memo, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO unpublished(hash) VALUES (zeroblob(32))")
        files = {name: memo.with_name(name).read_bytes() for name in ("encodings.db", "encodings.db-wal")}
    for name, data in files.items():  # as a kill leaves them
        memo.with_name(name).write_bytes(data)
    (library / "new.txt").write_text("Owls hoot.")
    assert index_files(folder, [library]).encoded == 1
    assert is_sealed(memo)


def test_braces_in_the_name_of_an_index_are_no_places_to_fill(folder: Path) -> None:
    index = folder.rename(folder.with_name("k{b}"))
    (index / "encodings.db").write_bytes(b"no database")
    assert check_index(index)[0].startswith(f"{index}/encodings.db: it is damaged (")
