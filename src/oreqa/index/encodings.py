"""Memoised encodings: the vectors and words of passages, under a hash of the encoder's input.

The memo, ``encodings.db``, lies in the index's folder. It is written during an update, so that an interruption loses at
most one batch; searches never read it. It can be deleted: the next update then encodes all passages again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from oreqa.arrays import Ints
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.errors import describe
from oreqa.index.generations import need_regular
from oreqa.index.lexical import Vocabulary, words
from oreqa.index.store import SQLITE_ERRORS, chunks, is_damage, read_setting, transaction, write_setting
from oreqa.models.encoder.encoder import Encoder
from oreqa.progress import Advance, part_of

ENCODINGS = "encodings.db"

NEXT = f"next-{ENCODINGS}"
"""The memo of an encoder that an index is being changed to (``change_encoder``)."""

KEPT_UPDATES = 10
"""For how many further updates the encodings of an interrupted update are kept."""

_VERSION = "4"
"""Increase it when a change of the code gives the same passage another encoding or other words."""

_SCHEMA = """
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- vectors: of the passage and its sentences (float16); terms: word ids (int32); lengths: number of words of the passage and
-- of each sentence (int32); crc: CRC-32 of the three.
CREATE TABLE encodings(
    hash BLOB PRIMARY KEY, vectors BLOB NOT NULL, terms BLOB NOT NULL, lengths BLOB NOT NULL, crc INTEGER NOT NULL);
-- Encodings that no published generation uses yet: those of an interrupted update, kept for when it runs again. They are
-- deleted after a few updates.
CREATE TABLE unpublished(hash BLOB PRIMARY KEY, updates INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, crc INTEGER NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The vectors of a passage and its sentences (``[1 + sentences, dim]``, flattened), and their words.

    ``terms`` are word ids: those of the passage with its head, then those of each sentence. ``lengths`` has the number of
    words of each of these texts, ``[1 + sentences]``.
    """

    vectors: NDArray[np.float16]
    terms: Ints
    lengths: Ints


class Encodings:
    """The memo of one index, opened by its writer. One that is damaged or of another model is replaced."""

    def __init__(self, folder: Path, fingerprint: str, language: str, name: str = ENCODINGS) -> None:
        self._path = folder / name
        self._language = language
        self._made_for = f"{_VERSION} {fingerprint} {language}"
        if name == ENCODINGS and _made_for(folder / NEXT) == self._made_for != _made_for(self._path):
            replace_encodings(folder / NEXT, self._path)  # a change of the encoder was killed at its end
        _ = [need_regular(file) for file in memo_files(self._path)]
        try:
            self._load()
        except SQLITE_ERRORS as error:
            if not is_damage(error):  # for example a full disk: keep the memo
                raise
            self.close()
            _remove(self._path)
            self._load()

    def _load(self) -> None:
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._prepare()
        self.vocabulary = Vocabulary(_sound_terms(self._database))

    def _prepare(self) -> None:
        run = self._database.execute
        _check_header(self._path)  # before SQLite locks the file: closing it anywhere ends the lock
        # The writer's lock keeps other processes out. Exclusive mode needs no shared memory: it works on network drives.
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA temp_store = MEMORY")
        if not _schema(self._database):
            with transaction(self._database):
                for statement in _SCHEMA.split(";\n"):
                    run(statement)
                write_setting(self._database, "made_for", self._made_for)
        _check_pages(self._database)
        if read_setting(self._database, "made_for") != self._made_for:
            raise sqlite3.DatabaseError("it belongs to another model")

    def close(self) -> None:
        self._database.close()

    def __contains__(self, digest: bytes) -> bool:
        return self._database.execute("SELECT 1 FROM encodings WHERE hash = ?", (digest,)).fetchone() is not None

    def encode(self, passages: Mapping[bytes, Passage], encoder: Encoder, advance: Advance) -> None:
        """Encode passages, whose keys are their hashes, and commit the result."""
        matrices = encoder.encode_passages(
            [encoder_input(passage) for passage in passages.values()], progress=part_of(advance)
        )
        rows = []
        for (digest, passage), matrix in zip(passages.items(), matrices, strict=True):
            # The passage's words include its head's; a sentence's do not.
            texts = [f"{passage_head(passage.title, passage.heading)}\n{passage.text}", *(s.text for s in passage.sentences)]
            stems = [words(text, self._language) for text in texts]
            numbers = self.vocabulary.number([stem for text in stems for stem in text])
            lengths = np.array([len(text) for text in stems], np.int32)
            blobs = (matrix.astype(np.float16).tobytes(), numbers.tobytes(), lengths.tobytes())
            rows.append((digest, *blobs, _crc(blobs)))
        with transaction(self._database):
            terms = [(number, term, _crc([term.encode()])) for number, term in self.vocabulary.take_new()]
            self._database.executemany("INSERT INTO terms VALUES (?, ?, ?)", terms)
            self._database.executemany("INSERT OR REPLACE INTO encodings VALUES (?, ?, ?, ?, ?)", rows)
            self._database.executemany("INSERT OR IGNORE INTO unpublished(hash) VALUES (?)", [row[:1] for row in rows])

    def read(self, digests: Iterable[bytes]) -> Iterator[Encoding | None]:
        """Yield the encoding of each passage, in order; None if it is missing or damaged."""
        for batch in chunks(digests, 500):
            marks = ",".join("?" * len(batch))
            query = f"SELECT hash, vectors, terms, lengths, crc FROM encodings WHERE hash IN ({marks})"
            rows = {digest: (blobs, crc) for digest, *blobs, crc in self._database.execute(query, batch)}
            for digest in batch:
                blobs, crc = rows.get(digest, ((), None))
                if crc is None or _crc(blobs) != crc:
                    yield None
                else:
                    vectors, terms, lengths = blobs
                    yield Encoding(
                        np.frombuffer(vectors, np.float16), np.frombuffer(terms, np.int32), np.frombuffer(lengths, np.int32)
                    )

    def drop_damaged(self) -> None:
        """Delete the encodings that are damaged, also those that no generation uses yet."""
        with transaction(self._database):
            self._database.executemany("DELETE FROM encodings WHERE rowid = ?", _damaged_rows(self._database))

    def forget_unused(self, digests: Iterable[bytes]) -> None:
        """Delete encodings that the generation just published does not use, except those that an interrupted update left."""
        run = self._database.execute
        run("CREATE TEMP TABLE IF NOT EXISTS used(hash BLOB PRIMARY KEY) WITHOUT ROWID")
        with transaction(self._database):
            run("DELETE FROM used")
            self._database.executemany("INSERT OR IGNORE INTO used VALUES (?)", ((digest,) for digest in digests))
            run("DELETE FROM unpublished WHERE hash IN (SELECT hash FROM used)")
            run("UPDATE unpublished SET updates = updates + 1")
            run("DELETE FROM unpublished WHERE updates > ?", (KEPT_UPDATES,))
            run(
                "DELETE FROM encodings WHERE hash NOT IN (SELECT hash FROM used) "
                "AND hash NOT IN (SELECT hash FROM unpublished)"
            )
            run("DELETE FROM used")


def replace_encodings(source: Path, target: Path) -> None:
    """Put a memo in the place of another, with what its log still holds."""
    with suppress(*SQLITE_ERRORS), closing(sqlite3.connect(source, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")  # a log would be lost, or be taken for the other file's
    _remove(target)
    source.rename(target)


def memo_files(path: Path) -> list[Path]:
    """A memo, and the files that SQLite may keep beside it."""
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm", "-journal")]


def _remove(path: Path) -> None:
    for file in memo_files(path):
        file.unlink(missing_ok=True)


def _made_for(path: Path) -> str | None:
    """The encoder, language and version that a memo was made for; None if there is none, or it cannot be read."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            return read_setting(database, "made_for")
    except SQLITE_ERRORS:
        return None


def encoder_input(passage: Passage) -> tuple[str, str, list[tuple[int, int]]]:
    """Return the encoder's input for a passage: head, text, and the sentences' character offsets into the text."""
    spans = [(s.start - passage.start, s.end - passage.start) for s in passage.sentences]
    return passage_head(passage.title, passage.heading), passage.text, spans


def passage_hash(passage: Passage) -> bytes:
    """Return the SHA-256 of a passage's encoder input."""
    return hashlib.sha256(json.dumps(encoder_input(passage)).encode()).digest()


def check_encodings(folder: Path) -> str | None:
    """Return a line about the damage of an index's memo; None if it is sound, missing, or being written."""
    try:
        damage = damage_of_encodings(folder)
        problem = f"it is damaged ({damage})"
    except (OSError, sqlite3.Error) as error:
        damage = str(error)
        problem = f"it cannot be read ({describe(error)})"
    if not damage or "locked" in damage:
        return None
    return f"{folder / ENCODINGS}: {problem}; the lost encodings are computed again by: oreqa index PATH --index {folder}"


def damage_of_encodings(folder: Path) -> str:
    """Say what is damaged of an index's memo, after reading all of it; "" if it is sound or missing.

    Raises OSError, or an error of SQLite's, if it cannot be read.
    """
    path = folder / ENCODINGS
    exists, *_ = [need_regular(file) for file in memo_files(path)]
    if not exists:
        return ""
    log = path.with_name(f"{ENCODINGS}-wal")
    options = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
    try:
        _check_header(path)
        with closing(sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?{options}", uri=True)) as database:
            if _schema(database):  # else it was emptied
                _check_pages(database)
                _sound_terms(database)
                damaged = sum(1 for _ in _damaged_rows(database))
                return f"{damaged} of its rows" if damaged else ""
    except SQLITE_ERRORS as error:
        if not is_damage(error):
            raise
        return describe(error)
    return ""


def _check_header(path: Path) -> None:
    """Raise sqlite3.DatabaseError for a version in a file's header that SQLite opens for reading alone, or not at all."""
    with path.open("rb") as file:
        header = file.read(20)
    if header and header[18:] not in (b"\1\1", b"\2\2"):
        raise sqlite3.DatabaseError("its header")


def _schema(database: sqlite3.Connection) -> list[tuple[str, str]]:
    return database.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def _check_pages(database: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError for tables that are not a memo's, and for what SQLite finds damaged, indices included."""
    with closing(sqlite3.connect(":memory:")) as memo:
        memo.executescript(_SCHEMA)
        if _schema(database) != _schema(memo):
            raise sqlite3.DatabaseError("its tables are not those of encodings")
    (answer,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)


def _sound_terms(database: sqlite3.Connection) -> list[str]:
    """The words in the order of their numbers. Raises sqlite3.DatabaseError if one is missing or damaged."""
    rows = database.execute("SELECT id, term, crc FROM terms ORDER BY id").fetchall()
    for place, (number, term, crc) in enumerate(rows):
        if number != place or not isinstance(term, str) or _crc([term.encode()]) != crc:
            raise sqlite3.DatabaseError("its words")
    return [term for _, term, _ in rows]


def _damaged_rows(database: sqlite3.Connection) -> Iterator[tuple[int]]:
    """The numbers of the damaged rows of encodings."""
    for number, *blobs, crc in database.execute("SELECT rowid, vectors, terms, lengths, crc FROM encodings"):
        if _crc(blobs) != crc:
            yield (number,)


def _crc(blobs: Iterable[object]) -> int | None:
    """The CRC-32 of bytes; None if damage made something else of them."""
    crc = 0
    for blob in blobs:
        if not isinstance(blob, bytes):
            return None
        crc = zlib.crc32(blob, crc)
    return crc
