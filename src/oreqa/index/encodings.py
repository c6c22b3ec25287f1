"""Memoised encodings: the vectors and words of passages, under a hash of the encoder's input.

The memo, ``encodings.db``, lies in the index's folder. It is written during an update, so that an interruption loses at
most one batch; searches never read it. It can be deleted: the next update then encodes all passages again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oreqa.arrays import Ints
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.index.codes import Codes, quantise, stored_codes
from oreqa.index.generations import need_regular
from oreqa.index.lexical import Vocabulary, words
from oreqa.index.memo import (
    ENCODINGS,
    NEXT,
    SCHEMA,
    break_seal,
    check_header,
    check_pages,
    crc32,
    damaged_rows,
    is_sealed,
    made_for,
    memo_files,
    read_schema,
    remove_memo,
    replace_encodings,
    seal,
    sound_terms,
)
from oreqa.index.store import SQLITE_ERRORS, chunks, is_damage, read_setting, transaction, write_setting
from oreqa.models.encoder.encoder import Encoder
from oreqa.progress import Advance, part_of

KEPT_UPDATES = 10
"""For how many further updates the encodings of an interrupted update are kept."""

_VERSION = "5"
"""Increase it when a change of the code gives the same passage another encoding or other words."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The vectors of a passage and its sentences (``[1 + sentences]``), and their words.

    ``terms`` are word ids: those of the passage with its head, then those of each sentence. ``lengths`` has the number of
    words of each of these texts, ``[1 + sentences]``.
    """

    vectors: Codes
    terms: Ints
    lengths: Ints


class Encodings:
    """The memo of one index, opened by its writer. One that is damaged or of another model is replaced."""

    def __init__(self, folder: Path, fingerprint: str, language: str, name: str = ENCODINGS) -> None:
        self._path = folder / name
        self._language, self._complete = language, False
        self._made_for = f"{_VERSION} {fingerprint} {language}"
        if name == ENCODINGS and made_for(folder / NEXT) == self._made_for != made_for(self._path):
            replace_encodings(folder / NEXT, self._path)  # a change of the encoder was killed at its end
        _ = [need_regular(file) for file in memo_files(self._path)]
        try:
            self._load()
        except (*SQLITE_ERRORS, OSError) as error:
            if not is_damage(error):  # for example a full disk: keep the memo
                raise
            remove_memo(self._path)
            self._load()

    def _load(self) -> None:
        sealed = is_sealed(self._path)
        break_seal(self._path)
        self._database = sqlite3.connect(self._path, isolation_level=None)
        try:
            self._prepare(sealed)
        except BaseException:
            self._database.close()
            raise

    def _prepare(self, sealed: bool) -> None:
        """Set up the database, and check what differs from its seal."""
        check_header(self._path)  # before SQLite locks the file: closing it anywhere ends the lock
        run = self._database.execute
        # The writer's lock keeps other processes out. Exclusive mode needs no shared memory: it works on network drives.
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA temp_store = MEMORY")
        if not read_schema(self._database):
            with transaction(self._database):
                for statement in SCHEMA.split(";\n"):
                    run(statement)
                write_setting(self._database, "made_for", self._made_for)
        if not sealed:
            check_pages(self._database)
        if read_setting(self._database, "made_for") != self._made_for:
            raise sqlite3.DatabaseError("it belongs to another model")
        terms = run("SELECT term FROM terms ORDER BY id")
        self.vocabulary = Vocabulary([term for (term,) in terms] if sealed else sound_terms(self._database))
        if not sealed:
            with transaction(self._database):
                self._database.executemany("DELETE FROM encodings WHERE rowid = ?", damaged_rows(self._database))

    def close(self) -> None:
        """Close the file; after ``forget_unused``, the end of an update, it is sealed."""
        self._database.close()
        if self._complete:
            seal(self._path)

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
            blobs = (quantise(matrix).tobytes(), numbers.tobytes(), lengths.tobytes())
            rows.append((digest, *blobs, crc32(blobs)))
        with transaction(self._database):
            terms = [(number, term, crc32([term.encode()])) for number, term in self.vocabulary.take_new()]
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
                if crc is None or crc32(blobs) != crc:
                    yield None
                else:
                    vectors, terms, lengths = blobs
                    sizes = np.frombuffer(lengths, np.int32)
                    yield Encoding(stored_codes(vectors, len(sizes)), np.frombuffer(terms, np.int32), sizes)

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
        self._complete = True


def encoder_input(passage: Passage) -> tuple[str, str, list[tuple[int, int]]]:
    """Return the encoder's input for a passage: head, text, and the sentences' character offsets into the text."""
    spans = [(s.start - passage.start, s.end - passage.start) for s in passage.sentences]
    return passage_head(passage.title, passage.heading), passage.text, spans


def passage_hash(passage: Passage) -> bytes:
    """Return the SHA-256 of a passage's encoder input."""
    return hashlib.sha256(json.dumps(encoder_input(passage)).encode()).digest()
