"""Documents into an index: encode what changed, and publish everything at once."""

from __future__ import annotations

import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import split_passages
from oreqa.errors import DocumentError, IndexStateError
from oreqa.index import store
from oreqa.index.coverage import Words
from oreqa.index.dense import check_factory
from oreqa.index.documents import document_hash, insert_document, read_passages
from oreqa.index.encodings import Encodings, passage_hash
from oreqa.index.generations import (
    DOCUMENTS,
    DRAFT,
    damage_message,
    damaged_files,
    link_file,
    newest_generation,
    publish_draft,
    read_manifest,
    write_manifest,
)
from oreqa.index.lexical import check_language
from oreqa.index.locking import check_empty, existing_settings, locked, write_errors_named
from oreqa.index.publish import MissingEncodingsError, build_search_files, content_hash
from oreqa.index.store import Holds, Settings, transaction
from oreqa.models.encoder.encoder import Encoder

BATCH_PASSAGES = 512
"""Passages that are encoded and committed together: what an interruption loses at the most."""

Progress = Callable[[int], None]


@dataclass
class Report:
    """What an update did, in numbers of documents.

    ``gone`` could be pruned; ``passages`` counts those of the whole index, ``encoded`` those that the model read,
    ``unknown`` files of kinds that no reader knows, by the ends of their names. ``words`` counts those of the files that
    were read now: in the source, read, and left out on purpose by reason. ``problems`` has a line for every file that was
    left out, ``warnings`` for every one of which too little came through, ``mended`` the search files that were damaged and
    were made anew.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    gone: int = 0
    passages: int = 0
    encoded: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Row:
    """A document of the index as this update found it."""

    number: int
    key: str
    source: str
    content: bytes
    gone: bool


@dataclass(slots=True)
class _Reading:
    """What this update has read of one source: the keys, the documents that it replaces or that are back, the new ones."""

    keys: set[str] = field(default_factory=set)
    replaced: list[_Row] = field(default_factory=list)
    returned: list[_Row] = field(default_factory=list)
    inserted: list[int] = field(default_factory=list)
    added: int = 0


class IndexWriter:
    """The one writer of an index; get it from ``open_writer``.

    All that an update adds and removes, and what it has read, is written to a draft, a copy of the current generation's
    documents, which ``publish`` makes the next generation. Leaving without it drops the draft; encoded passages are kept.
    """

    def __init__(self, folder: Path, settings: Settings, holds: Holds, load_encoder: Callable[[], Encoder]) -> None:
        self.folder, self.settings, self.holds = folder, settings, holds
        self.report = Report()
        self._load_encoder = load_encoder
        self._encoder: Encoder | None = None
        self._encodings: Encodings | None = None
        self._draft: sqlite3.Connection | None = None
        self._before = newest_generation(folder)
        self._fingerprint: str | None = None
        self._rebuild = False
        self._rows: dict[str, _Row] = {}
        self._by_source: dict[str, list[_Row]] = defaultdict(list)
        self._stamps: dict[str, str] = {}
        if self._before is not None:
            self._load(self._before)
        # What this update has come to so far.
        self._readings: dict[str, _Reading] = {}
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._new_stamps: dict[str, str | None] = {}
        self._waiting: list[tuple[Document, str, bytes, list[Passage]]] = []
        self._shared: dict[str, dict[str, Any]] = {}
        self._published = False

    def _load(self, before: Path) -> None:
        """What the current generation holds. Search files that are damaged are made anew by this update."""
        damaged = damaged_files(before)
        if DOCUMENTS in damaged:
            raise IndexStateError(damage_message(before / DOCUMENTS))
        self.report.mended = damaged
        database = store.open_documents(before)
        settings = store.read_settings(database)
        self._check_settings(settings)
        if (theirs := store.read_setting(database, "holds")) != self.holds:
            raise IndexStateError(
                f"{self.folder}: this index holds {theirs}, not {self.holds}: name another folder, or a new one"
            )
        self._rebuild = bool(damaged) or self.settings.factory != settings.factory
        self._fingerprint = store.read_setting(database, "fingerprint")
        for number, key, source, content, gone in database.execute("SELECT id, key, source, hash, gone FROM documents"):
            self._rows[key] = row = _Row(number, key, source, content, bool(gone))
            self._by_source[source].append(row)
        self._stamps = dict(database.execute("SELECT path, stamp FROM sources"))
        (self.report.passages,) = database.execute("SELECT COUNT(*) FROM passages").fetchone()
        database.close()

    def _check_settings(self, before: Settings) -> None:
        for name in ("model", "passage_tokens", "language"):
            ours, theirs = getattr(self.settings, name), getattr(before, name)
            if ours != theirs:
                option = "--" + name.replace("_", "-")
                raise IndexStateError(
                    f"{self.folder}: it was made with {option} {theirs}, not {ours}; leave the option out, "
                    "or index into a new folder"
                )

    @property
    def encoder(self) -> Encoder:
        """Loaded when it is first needed: a refresh that finds nothing new does without."""
        if self._encoder is None:
            self._encoder = self._load_encoder()
            if self._fingerprint not in (None, self._encoder.fingerprint):
                raise IndexStateError(
                    f"{self.folder}: it was made with another version of the model {self.settings.model}; "
                    "use that one, or index into a new folder"
                )
            self._fingerprint = self._encoder.fingerprint
        return self._encoder

    @property
    def encodings(self) -> Encodings:
        """The memo of encoded passages, opened when it is first needed."""
        if self._encodings is None:
            fingerprint = self._fingerprint or self.encoder.fingerprint
            self._encodings = Encodings(self.folder, fingerprint, self.settings.language)
        return self._encodings

    @property
    def draft(self) -> sqlite3.Connection:
        """The documents of the next generation, copied from the current one when they are first to change."""
        if self._published:
            raise IndexStateError(f"{self.folder}: this update was published; open another writer for the next one")
        if self._draft is None:
            folder = self.folder / DRAFT
            folder.mkdir()
            if self._before is None:
                self._draft = store.create_documents(folder, self.settings, self.encoder.fingerprint, self.holds)
            else:
                shutil.copyfile(self._before / DOCUMENTS, folder / DOCUMENTS)
                self._draft = store.open_draft(folder)
        return self._draft

    def close(self) -> None:
        """Drop the draft."""
        for database in (self._draft, self._encodings):
            if database is not None:
                database.close()
        shutil.rmtree(self.folder / DRAFT, ignore_errors=True)

    def fresh(self, source: str, stamp: str) -> bool:
        """Whether a source was read with this stamp before; its documents then count as seen."""
        if self._stamps.get(source) != stamp:
            return False
        keys = {row.key for row in self._by_source[source] if not row.gone}
        self._readings[source] = _Reading(keys)
        self._seen |= keys
        return True

    def keep(self, source: str) -> None:
        """Leave a source's documents as they were: it is there, but cannot be read, or not to its end."""
        self._kept.add(source)
        self._waiting = [waiting for waiting in self._waiting if waiting[1] != source]
        reading = self._readings.pop(source, None)
        if reading is not None:
            self._seen -= reading.keys
            if reading.inserted:
                with transaction(self.draft):
                    self.draft.executemany("DELETE FROM documents WHERE id = ?", [(row,) for row in reading.inserted])

    def finish_source(self, source: str, stamp: str | None) -> None:
        """Note that a source was read whole; ``stamp`` tells whether it changes, None that it is to be read next time."""
        self._readings.setdefault(source, _Reading())
        if self._stamps.get(source) != stamp:
            self._new_stamps[source] = stamp

    def add(
        self, document: Document, source: str, passages: Sequence[Passage] | None = None, progress: Progress | None = None
    ) -> None:
        """Add or refresh one document: cut into passages here, or into those given. Neighbours are encoded together.

        Raises DocumentError if another document of this update has its key.
        """
        key = document.key
        if key in self._seen:
            raise DocumentError(f"two documents are called {key}: give one of them another name")
        reading = self._readings.setdefault(source, _Reading())
        reading.keys.add(key)
        self._seen.add(key)
        content = document_hash(document, passages)
        before = self._rows.get(key)
        if before is not None and before.content == content and before.source == source:
            if before.gone:
                reading.returned.append(before)
            return
        if before is None:
            reading.added += 1
        else:
            reading.replaced.append(before)
        self._waiting.append((document, source, content, list(passages) if passages is not None else self._split(document)))
        if sum(len(waiting[3]) for waiting in self._waiting) >= BATCH_PASSAGES:
            self.flush(progress)

    def _split(self, document: Document) -> list[Passage]:
        encoder = self.encoder
        room = min(self.settings.passage_tokens - 2, encoder.max_tokens)  # [CLS] and [SEP] count
        return split_passages(document, encoder.count_tokens, room, self.settings.language)

    def flush(self, progress: Progress | None = None) -> None:
        """Encode the documents that wait, keep their encodings for good, and write them to the draft."""
        if not self._waiting:
            return
        hashes = [[passage_hash(passage) for passage in waiting[3]] for waiting in self._waiting]
        new: dict[bytes, Passage] = {}
        for row, (*_, passages) in zip(hashes, self._waiting, strict=True):
            for digest, passage in zip(row, passages, strict=True):
                if digest not in self.encodings:
                    new.setdefault(digest, passage)
        self._encode(new, progress)
        if progress:
            progress(sum(map(len, hashes)) - len(new))
        with transaction(self.draft):
            for row, (document, source, content, passages) in zip(hashes, self._waiting, strict=True):
                number = insert_document(self.draft, document, source, content, passages, row)
                self._readings[source].inserted.append(number)
        self._waiting.clear()
        self._rebuild = True

    def _encode(self, passages: dict[bytes, Passage], progress: Progress | None = None) -> None:
        for batch in store.chunks(passages.items(), BATCH_PASSAGES):
            self.encodings.encode(dict(batch), self.encoder, progress)
            self.report.encoded += len(batch)

    def remove_unseen(self, within: Callable[[str], bool], prune: bool) -> None:
        """Count the documents ``within`` what was read that were not seen; with ``prune``, remove them.

        Sources are forgotten with their documents, so that one that comes back is read again.
        """
        sources = {s for s in {*self._by_source, *self._stamps} if s not in self._kept and within(s)}
        unseen = [row for source in sorted(sources) for row in self._by_source[source] if row.key not in self._seen]
        forgotten = [(source,) for source in sources if source in self._stamps and source not in self._readings]
        if prune:
            self.report.removed = len(unseen)
            if unseen or forgotten:
                with transaction(self.draft):
                    self.draft.executemany("DELETE FROM documents WHERE id = ?", [(row.number,) for row in unseen])
                    self.draft.executemany("DELETE FROM sources WHERE path = ?", forgotten)
            self._rebuild = self._rebuild or bool(unseen)
            return
        self.report.gone = len(unseen)
        lost = [(row.number,) for row in unseen if row.source in self._readings and not row.gone]
        if lost:
            with transaction(self.draft):
                self.draft.executemany("UPDATE documents SET gone = 1 WHERE id = ?", lost)

    def publish(self) -> None:
        """Make all that was added and removed visible at once, with new search files. Nothing new: nothing done."""
        self.flush()
        self._count()
        replaced = [(row.number,) for reading in self._readings.values() for row in reading.replaced]
        returned = [(row.number,) for reading in self._readings.values() for row in reading.returned]
        stamps = [(source, stamp) for source, stamp in self._new_stamps.items() if stamp is not None]
        if self._draft is None and not (returned or self._new_stamps or self._rebuild or self._before is None):
            return
        with transaction(self.draft):
            self.draft.executemany("DELETE FROM documents WHERE id = ?", replaced)
            self.draft.executemany("UPDATE documents SET gone = 0 WHERE id = ?", returned)
            self.draft.executemany("DELETE FROM sources WHERE path = ?", [(source,) for source in self._new_stamps])
            self.draft.executemany("INSERT INTO sources VALUES (?, ?)", stamps)
        if self._rebuild or self._before is None:
            self._build()
        else:
            self._share()
        (self.report.passages,) = self.draft.execute("SELECT COUNT(*) FROM passages").fetchone()
        used = [row[0] for row in self.draft.execute("SELECT encoding FROM passages")]
        self.draft.close()
        self._draft = None
        write_manifest(self.folder / DRAFT, self._shared)
        publish_draft(self.folder)
        self._published = True
        if self._encodings is not None:
            self._encodings.published(used)

    def _count(self) -> None:
        for reading in self._readings.values():
            self.report.added += reading.added
            self.report.changed += len(reading.replaced)
            self.report.unchanged += len(reading.keys) - reading.added - len(reading.replaced)

    def _build(self) -> None:
        """Search files made anew."""
        folder = self.folder / DRAFT
        with transaction(self.draft):
            store.write_setting(self.draft, "factory", self.settings.factory)
            store.write_setting(self.draft, "content", content_hash(self.draft))
        try:
            build_search_files(self.draft, folder, self.settings.factory, self.encodings)
        except MissingEncodingsError as missing:
            self._encode_again(missing.hashes)
            build_search_files(self.draft, folder, self.settings.factory, self.encodings)

    def _encode_again(self, digests: set[bytes]) -> None:
        """Encode passages of the draft whose encodings were lost, or damaged."""
        for batch in store.chunks(sorted(digests), BATCH_PASSAGES):
            marks = ",".join("?" * len(batch))
            ids = self.draft.execute(f"SELECT encoding, MIN(id) FROM passages WHERE encoding IN ({marks}) GROUP BY encoding",
                                     batch)  # fmt: skip
            numbers = {number: digest for digest, number in ids}
            passages = read_passages(self.draft, numbers)
            self._encode({numbers[number]: passage for number, (passage, _) in passages.items()})

    def _share(self) -> None:
        """The search files of the current generation: the documents that can be found are the same."""
        assert self._before is not None
        self._shared = {name: row for name, row in read_manifest(self._before).items() if name != DOCUMENTS}
        for name in self._shared:
            link_file(self._before / name, self.folder / DRAFT / name)


@contextmanager
def open_writer(
    folder: Path, settings: Settings | None = None, device: str = "cpu", holds: Holds = "documents"
) -> Iterator[IndexWriter]:
    """Open an index to write to it, making it if it is new; ``settings`` of None takes the index's own, or the defaults.

    An index ``holds`` a user's documents or the passages of a task, which an update replaces whole: never both.

    Raises IndexStateError if another process writes it, if it was made differently, or if the disk is full; InputError for
    settings that cannot work, before anything is written.
    """
    settings = settings or existing_settings(folder) or Settings()
    model = settings.model
    check_language(settings.language)
    check_factory(settings.factory)
    encoder = None
    if newest_generation(folder) is None:
        check_empty(folder)
        encoder = Encoder.load(model, device)  # one that cannot be loaded leaves no folder behind
    with locked(folder), write_errors_named(folder):
        shutil.rmtree(folder / DRAFT, ignore_errors=True)
        writer = IndexWriter(folder, settings, holds, lambda: encoder or Encoder.load(model, device))
        try:
            yield writer
        finally:
            writer.close()
