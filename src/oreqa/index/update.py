"""Documents into an index: encode what changed, and publish everything at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from oreqa.core import Document, Passage
from oreqa.corpus.chunks import CUT_VERSION, passage_head
from oreqa.errors import IndexStateError, InputError
from oreqa.index import store
from oreqa.index.dense import check_factory
from oreqa.index.lexical import Vocabulary, check_language, words
from oreqa.index.publish import publish
from oreqa.index.store import Settings, transaction
from oreqa.runtime.encoder import Encoder

BATCH_PASSAGES = 512
"""Passages that are encoded and committed together: what an interruption loses at the most."""

Cut = Callable[[Document], list[Passage]]
Progress = Callable[[int], None]


@dataclass
class Report:
    """What an update did, in numbers of documents.

    ``gone`` could be pruned; ``passages`` counts those of the whole index, ``encoded`` those that the model read,
    ``unknown`` files of kinds that no reader knows. ``problems`` has a line for every file that was left out.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    gone: int = 0
    passages: int = 0
    encoded: int = 0
    unknown: int = 0
    problems: list[str] = field(default_factory=list)


class IndexWriter:
    """The one writer of an index. Use it as a context; leaving it without ``publish`` keeps the finished work."""

    def __init__(self, folder: Path, settings: Settings, load_encoder: Callable[[], Encoder]) -> None:
        self.folder = folder
        self.settings = settings
        self.report = Report()
        self._load_encoder = load_encoder
        self._loaded: Encoder | None = None
        self._waiting: list[tuple[Document, str, bytes, list[Passage]]] = []
        self._finished: list[tuple[str, str]] = []
        self._seen: set[str] = set()

    @property
    def encoder(self) -> Encoder:
        """Loaded when it is first needed: a refresh that finds nothing new does without."""
        if self._loaded is None:
            self._loaded = self._load_encoder()
            known = store.read_setting(self.database, "fingerprint")
            if known != self._loaded.fingerprint:
                raise IndexStateError(
                    f"{self.folder}: it was made with another version of the model {self.settings.model}; "
                    "use that one, or index into a new folder"
                )
        return self._loaded

    def open(self) -> None:
        """Lock the index, making it if it is new. Raises IndexStateError if it is locked or was made differently.

        Settings that cannot work raise InputError before anything is written.
        """
        check_language(self.settings.language)
        if not (self.folder / store.DATABASE).is_file():
            self._loaded = self._load_encoder()
            check_factory(self.settings.factory, self._loaded.dim)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.folder / "lock")
            self._lock.acquire(timeout=0)
        except Timeout:
            raise IndexStateError(f"{self.folder}: another process is writing this index; wait until it is done") from None
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{self.folder}: it is a file; --index names a folder") from None
        except OSError as error:
            raise InputError(f"{self.folder}: it cannot be written ({error.strerror})") from error
        try:
            if not (self.folder / store.DATABASE).is_file() and self._loaded is not None:
                store.create(self.folder, self.settings, self._loaded.fingerprint)
            self.database = store.connect(self.folder, write=True)
            self._check_settings()
            self._load_state()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Commit what is encoded and let others write."""
        self.database.close()
        self._lock.release()

    def _check_settings(self) -> None:
        made = store.read_settings(self.database)
        if self.settings.factory != made.factory:
            check_factory(self.settings.factory, self.encoder.dim)
        for name in ("model", "passage_tokens", "language"):
            ours, theirs = getattr(self.settings, name), getattr(made, name)
            if ours != theirs:
                option = "--" + name.replace("_", "-")
                raise IndexStateError(
                    f"{self.folder}: it was made with {option} {theirs}, not {ours}; leave the option out, "
                    "or index into a new folder"
                )

    def _load_state(self) -> None:
        self._known: dict[str, dict[int, tuple[int, bytes]]] = {}
        for row, key, digest, live in self.database.execute("SELECT id, key, hash, live FROM documents"):
            self._known.setdefault(key, {})[live] = (row, digest)
        terms = [term for (term,) in self.database.execute("SELECT term FROM terms ORDER BY id")]
        self._vocabulary = Vocabulary(terms)

    def fresh(self, source: str, stamp: str) -> bool:
        """Whether a source was read with this stamp before; its documents then count as seen."""
        row = self.database.execute("SELECT stamp FROM sources WHERE path = ?", (source,)).fetchone()
        if row is None or row[0] != stamp:
            return False
        for (key,) in self.database.execute("SELECT DISTINCT key FROM documents WHERE source = ?", (source,)):
            self._seen.add(key)
            self.report.unchanged += 1
        return True

    def keep(self, source: str) -> None:
        """Leave a source's documents as they are: it is there, but cannot be read."""
        self._seen.update(key for (key,) in self.database.execute("SELECT key FROM documents WHERE source = ?", (source,)))

    def finish_source(self, source: str, stamp: str) -> None:
        """Note that all documents of a source were added, once they are committed."""
        self._finished.append((source, stamp))

    def add(self, document: Document, source: str, cut: Cut, progress: Progress | None = None) -> None:
        """Add or refresh one document. Its passages are encoded with those of its neighbours."""
        if document.key in self._seen:
            raise InputError(f"{document.key}: two documents have this name; give one of them another")
        self._seen.add(document.key)
        digest = _document_hash(document)
        versions = self._known.get(document.key, {})
        if 0 in versions:
            if versions[0][1] == digest:  # encoded by a run that was interrupted
                self.report.changed += int(1 in versions)
                self.report.added += int(1 not in versions)
                return
            self._drop_waiting(versions[0][0])
        if 1 in versions and versions[1][1] == digest:
            self.report.unchanged += 1
            return
        self.report.changed += int(1 in versions)
        self.report.added += int(1 not in versions)
        self._waiting.append((document, source, digest, cut(document)))
        if sum(len(passages) for *_, passages in self._waiting) >= BATCH_PASSAGES:
            self.flush(progress)

    def _drop_waiting(self, row: int) -> None:
        with transaction(self.database):
            self.database.execute("DELETE FROM documents WHERE id = ?", (row,))

    def flush(self, progress: Progress | None = None) -> None:
        """Encode and commit the documents that wait, and note the sources that are finished."""
        hashes = [[_passage_hash(passage) for passage in passages] for *_, passages in self._waiting]
        new: dict[bytes, Passage] = {}
        for row, (*_, passages) in zip(hashes, self._waiting, strict=True):
            for digest, passage in zip(row, passages, strict=True):
                if not self._is_encoded(digest):
                    new.setdefault(digest, passage)
        encodings = self._encode(new, progress)
        if progress:
            progress(sum(map(len, hashes)) - len(new))
        with transaction(self.database):
            self.database.executemany("INSERT INTO terms VALUES (?, ?)", self._vocabulary.take_new())
            self.database.executemany("INSERT OR REPLACE INTO encodings VALUES (?, ?, ?, ?)", encodings)
            for row, (document, source, digest, passages) in zip(hashes, self._waiting, strict=True):
                self._insert(document, source, digest, passages, row)
            self.database.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?)", self._finished)
        self.report.encoded += len(new)
        self._waiting.clear()
        self._finished.clear()

    def _is_encoded(self, digest: bytes) -> bool:
        return self.database.execute("SELECT 1 FROM encodings WHERE hash = ?", (digest,)).fetchone() is not None

    def _encode(self, new: dict[bytes, Passage], progress: Progress | None) -> list[tuple[bytes, bytes, bytes, bytes]]:
        if not new:
            return []
        vectors = self.encoder.encode_passages([_encoder_input(p) for p in new.values()], progress)
        rows = []
        for (digest, passage), matrix in zip(new.items(), vectors, strict=True):
            # The passage's head is read with it, never with its sentences.
            texts = [
                f"{passage_head(passage.title, passage.heading)}\n{passage.text}",
                *(s.text for s in passage.sentences),
            ]
            found = [words(text, self.settings.language) for text in texts]
            terms = self._vocabulary.number([word for text in found for word in text])
            lengths = np.array([len(text) for text in found], np.int32)
            rows.append((digest, matrix.astype(np.float16).tobytes(), terms.tobytes(), lengths.tobytes()))
        return rows

    def _insert(self, document: Document, source: str, digest: bytes, passages: list[Passage], hashes: list[bytes]) -> None:
        run = self.database.execute
        fields = json.dumps(dict(document.fields), ensure_ascii=False)
        row = run(
            "INSERT INTO documents(key, source, title, fields, hash, live) VALUES (?, ?, ?, ?, ?, 0)",
            (document.key, source, document.title, fields, digest),
        ).lastrowid
        for passage, encoding in zip(passages, hashes, strict=True):
            number = run(
                "INSERT INTO passages(document, heading, text, start, encoding) VALUES (?, ?, ?, ?, ?)",
                (row, passage.heading, passage.text, passage.start, encoding),
            ).lastrowid
            self.database.executemany(
                "INSERT INTO sentences(passage, start, end) VALUES (?, ?, ?)",
                [(number, s.start, s.end) for s in passage.sentences],
            )

    def remove_unseen(self, within: Callable[[str], bool], prune: bool) -> None:
        """Count the documents ``within`` what was read that were not seen; with ``prune``, remove them."""
        rows = []
        for row, key, source, live in self.database.execute("SELECT id, key, source, live FROM documents"):
            if key not in self._seen and within(source):
                rows.append((row, source, live))
        if not prune:
            self.report.gone = sum(live for *_, live in rows)
            return
        self.report.removed = sum(live for *_, live in rows)
        with transaction(self.database):
            for row, source, live in rows:
                if live:
                    self.database.execute("INSERT OR IGNORE INTO removals VALUES (?)", (row,))
                else:
                    self.database.execute("DELETE FROM documents WHERE id = ?", (row,))
                if not Path(source).exists():
                    self.database.execute("DELETE FROM sources WHERE path = ?", (source,))

    def publish(self) -> None:
        """Make all that was added and removed visible at once, with new search files. Nothing new: nothing done."""
        self.flush()
        publish(self.database, self.folder, self.settings.factory, len(self._vocabulary))
        (self.report.passages,) = self.database.execute(
            "SELECT COUNT(*) FROM passages JOIN documents ON documents.id = document WHERE live = 1"
        ).fetchone()


@contextmanager
def open_writer(folder: Path, settings: Settings | None = None, device: str = "cpu") -> Iterator[IndexWriter]:
    """Open an index to write to it, making it if it is new; ``settings`` of None takes the index's own, or the defaults."""
    if settings is None:
        settings = existing_settings(folder) or Settings()
    model = settings.model
    writer = IndexWriter(folder, settings, lambda: Encoder.load(model, device))
    writer.open()
    try:
        yield writer
    finally:
        writer.close()


def existing_settings(folder: Path) -> Settings | None:
    """What an index was made with; None if there is none yet."""
    if not (folder / store.DATABASE).is_file():
        return None
    database = store.connect(folder)
    try:
        return store.read_settings(database)
    finally:
        database.close()


def _encoder_input(passage: Passage) -> tuple[str, str, list[tuple[int, int]]]:
    spans = [(s.start - passage.start, s.end - passage.start) for s in passage.sentences]
    return passage_head(passage.title, passage.heading), passage.text, spans


def _document_hash(document: Document) -> bytes:
    parts = [
        CUT_VERSION,
        document.title,
        document.text,
        [[s.start, s.end, s.heading] for s in document.sections],
        dict(document.fields),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()


def _passage_hash(passage: Passage) -> bytes:
    return hashlib.sha256(json.dumps(_encoder_input(passage)).encode()).digest()
