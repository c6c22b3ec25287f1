"""Updates an index: encodes what changed, and publishes all changes at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from oreqa.arguments import choice
from oreqa.core import Document, Passage
from oreqa.corpus.splitter import split_passages
from oreqa.defaults import BATCH_PASSAGES
from oreqa.errors import DocumentError, IndexStateError
from oreqa.index import drafts, store
from oreqa.index.coverage import Report
from oreqa.index.current import (
    CurrentState,
    Pending,
    SourceChanges,
    check_empty,
    chosen_settings,
    name_write_errors,
    read_current_state,
    write_lock,
)
from oreqa.index.documents import document_hash, insert_document
from oreqa.index.encodings import Encodings, passage_hash
from oreqa.index.engines.milvus_client import connect, server_uri
from oreqa.index.generations import DRAFT, newest_generation, write_manifest
from oreqa.index.journal import JOURNAL
from oreqa.index.lexical import check_language
from oreqa.index.publish import complete_draft, link_fitted, link_search_files, note_documents
from oreqa.index.replacing import clear_folder, drop_draft, publish_draft
from oreqa.index.store import ContentKind, Settings, transaction
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.session import DEVICES
from oreqa.models.stored import pinned_name
from oreqa.progress import Advance, ignore, report_kept


class IndexWriter:
    """The only writer of an index; get it from ``open_writer``.

    ``current`` is the index's content when the update began. Changes go to a draft, which ``publish`` makes the next
    generation. Without ``publish`` the draft is dropped, but the passages encoded so far are kept.
    """

    def __init__(
        self, folder: Path, settings: Settings, kind: ContentKind, current: CurrentState, load_encoder: Callable[[], Encoder]
    ) -> None:
        self.folder, self.settings, self.current = folder, settings, current
        self.report = Report(passages=current.passages, rebuilt=list(current.damaged))
        self._kind, self._load_encoder = kind, load_encoder
        self._encoder: Encoder | None = None
        self._encodings: Encodings | None = None
        self._draft: sqlite3.Connection | None = None
        self._rebuild = bool(current.damaged) or current.generation is None
        self._sources: dict[str, SourceChanges] = {}
        self._seen: set[str] = set()
        self._kept: set[str] = set()
        self._new_revisions: dict[str, str | None] = {}
        self._pending: list[Pending] = []
        self._published = False

    @property
    def encoder(self) -> Encoder:
        """The model, loaded on first use: an update without new content does not need it."""
        if self._encoder is None:
            self._encoder = self._load_encoder()
            if self.current.fingerprint not in (None, self._encoder.fingerprint):
                reason = f"it was built with another version of the model {self.settings.model}"
                raise IndexStateError(f"{self.folder}: {reason}; use that version, or index into a new folder")
        return self._encoder

    @property
    def encodings(self) -> Encodings:
        """The encodings, opened on first use."""
        if self._encodings is None:
            fingerprint = self.current.fingerprint or self.encoder.fingerprint
            self._encodings = Encodings(self.folder, fingerprint, self.current.generation, self.current.damaged)
        return self._encodings

    @property
    def draft(self) -> sqlite3.Connection:
        """The next generation's documents, the current ones plus changes; created on first use."""
        if self._published:
            raise IndexStateError(f"{self.folder}: this update was published; open another writer for the next one")
        if self._draft is None:
            folder = self.folder / DRAFT
            folder.mkdir()
            if self.current.generation is None:
                self._draft = store.create_documents(folder, self.settings, self.encoder.fingerprint, self._kind)
                store.write_prompts(self._draft, self.encoder.prompts)
            else:
                self._draft = drafts.begin_draft(self.current.generation, folder)
        return self._draft

    @property
    def waiting(self) -> int:
        """Passages of new documents that are not written yet."""
        return sum(len(pending.passages) for pending in self._pending)

    def close(self) -> None:
        """Close the databases and drop the draft."""
        for opened in (self._draft, self._encodings, self.current):
            if opened is not None:
                opened.close()
        drop_draft(self.folder)

    def fresh(self, source: str, revision: str) -> bool:
        """Return whether a source was last read with this revision; if so, mark its documents as seen."""
        if self.current.revision(source) != revision:
            return False
        keys = {row.key for row in self.current.by_source(source) if not row.gone}
        self._sources[source] = SourceChanges(keys)
        self._seen |= keys
        return True

    def keep(self, source: str) -> None:
        """Keep a source's documents unchanged: it exists, but could not be read completely."""
        self._kept.add(source)
        self._pending = [pending for pending in self._pending if pending.source != source]
        if changes := self._sources.pop(source, None):
            self._seen -= changes.keys
            if changes.inserted:
                with transaction(self.draft):
                    drafts.delete_documents(self.draft, changes.inserted)

    def finish_source(self, source: str, revision: str | None) -> None:
        """Record that a source was read completely.

        ``revision`` identifies its content, so that the next update can skip it; None makes the next update read it again.
        """
        self._sources.setdefault(source, SourceChanges())
        if self.current.revision(source) != revision:
            self._new_revisions[source] = revision

    def add(
        self, document: Document, source: str, passages: Sequence[Passage] | None = None, advance: Advance = ignore
    ) -> None:
        """Add or replace one document, split here unless ``passages`` are passed.

        New documents are encoded in batches; ``flush`` encodes the last one. Raises DocumentError if this update has
        already added a document with the same key.
        """
        key = document.key
        if key in self._seen:
            raise DocumentError(f"two documents have the key {key}: rename one of them")
        changes = self._sources.setdefault(source, SourceChanges())
        changes.keys.add(key)
        self._seen.add(key)
        content = document_hash(document, passages)
        before = self.current.document(key)
        if before is not None and before.content == content and before.source == source:
            if before.gone:
                changes.returned.append(before)
            return
        if before is None:
            changes.added += 1
        else:
            changes.replaced.append(before)
        if passages is None:
            most = min(self.settings.passage_tokens - 2, self.encoder.max_tokens)  # passage_tokens includes [CLS] and [SEP]
            passages = split_passages(document, self.encoder.count_tokens, most, self.settings.language)
        self._pending.append(Pending(document, source, content, list(passages)))
        if self.waiting >= BATCH_PASSAGES:
            self.flush(advance)

    def flush(self, advance: Advance = ignore) -> None:
        """Encode the pending documents, note their encodings in the journal, and write the documents to the draft."""
        if not self._pending:
            return
        hashes = [[passage_hash(passage) for passage in pending.passages] for pending in self._pending]
        new: dict[bytes, Passage] = {}
        for row, pending in zip(hashes, self._pending, strict=True):
            for digest, passage in zip(row, pending.passages, strict=True):
                if digest not in self.encodings:
                    new.setdefault(digest, passage)
        self._encode(new, advance)
        report_kept(advance, sum(map(len, hashes)) - len(new))
        with transaction(self.draft):
            for row, pending in zip(hashes, self._pending, strict=True):
                number = insert_document(
                    self.draft, pending.document, pending.source, pending.content, pending.passages, row
                )
                self._sources[pending.source].inserted.append(number)
        self._pending.clear()
        self._rebuild = True

    def _encode(self, passages: Mapping[bytes, Passage], advance: Advance) -> None:
        for batch in store.chunks(passages.items(), BATCH_PASSAGES):
            self.encodings.encode(dict(batch), self.encoder, advance)
            self.report.encoded += len(batch)

    def remove(self, documents: Sequence[int], sources: Sequence[str]) -> None:
        """Remove documents by id, and the records of sources, so that they are read again if they come back."""
        self.report.removed = len(documents)
        self._rebuild = self._rebuild or bool(documents)
        if documents or sources:
            with transaction(self.draft):
                drafts.delete_documents(self.draft, documents)
                drafts.delete_sources(self.draft, sources)

    def remove_unseen(self, within: Callable[[str], bool], prune: bool) -> None:
        """Count the documents that this update has not seen, of the sources for which ``within`` is true.

        With ``prune``, they are removed with the records of their sources, so that one that comes back is read again.
        """
        sources = {source for source in self.current.all_sources() if source not in self._kept and within(source)}
        unseen = [row for source in sorted(sources) for row in self.current.by_source(source) if row.key not in self._seen]
        unread = [source for source in sources if source not in self._sources and self.current.revision(source)]
        if prune:
            self.remove([row.number for row in unseen], unread)
            return
        self.report.gone = len(unseen)
        newly_missing = [row.number for row in unseen if row.source in self._sources and not row.gone]
        if newly_missing:
            with transaction(self.draft):
                drafts.set_missing(self.draft, newly_missing, True)

    def publish(self, advance: Advance = ignore, forget: bool = False) -> None:
        """Make all changes visible at once as the next generation, if there are any, and end the journal.

        With ``forget``, earlier generations, which contain what this update removes, are not kept.
        """
        self.flush(advance)
        is_other = (quality := self.settings.quality) not in (self.current.quality, None)
        for changes in self._sources.values():
            changes.count(self.report)
        replaced = [row.number for changes in self._sources.values() for row in changes.replaced]
        returned = [row.number for changes in self._sources.values() for row in changes.returned]
        if self._draft is None and not (returned or self._new_revisions or self._rebuild or is_other):
            if (self.folder / JOURNAL).is_file():
                self.encodings.end()
            return
        with transaction(self.draft):
            if quality is not None and is_other:
                store.write_setting(self.draft, "quality", quality)
            drafts.delete_documents(self.draft, replaced)
            drafts.set_missing(self.draft, returned, False)
            drafts.write_sources(self.draft, self._new_revisions)
        before, folder = self.current.generation, self.folder / DRAFT
        note_documents(self.draft)
        self._draft = drafts.compacted(self.draft, folder, before, bool(self.report.removed))
        if before is None or self._rebuild:
            encode = partial(self._encode, advance=advance)
            checksums = complete_draft(self.draft, folder, self.encodings, encode, self.encodings.published)
            link_fitted(before, folder, self.current.damaged)
        else:  # the passages are the same, and so are their search files
            checksums = link_search_files(before, folder)
        self.report.passages = drafts.count_passages(self.draft)
        if forget:
            drafts.rewrite(self.draft, folder)
        self.draft.close()
        write_manifest(folder, {**checksums, **drafts.shared_documents(before, folder)}, forget)
        publish_draft(self.folder)
        self._published = True
        self.encodings.end()


@contextmanager
def open_writer(
    folder: Path,
    settings: Settings | None = None,
    device: str = "cpu",
    kind: ContentKind = "documents",
    model: str | Path | None = None,
    mode: int = 0o777,
    encoder: Encoder | None = None,
) -> Iterator[IndexWriter]:
    """Open an index for writing, creating it if it is new.

    Without ``settings``, those of the existing index apply, or the defaults; ``model`` replaces the model in them. A loaded
    ``encoder`` is used if it is the index's. A new folder gets the ``mode``, less the umask. The ``kind`` is a user's
    documents or a task's passages, which each update replaces. Raises IndexStateError if another process is writing
    the index, its settings are others, or the disk is full; InputError for invalid settings, before anything is written.
    """
    choice(device, DEVICES, "device")
    settings = chosen_settings(folder, settings, model)
    load = partial(Encoder, store.model_place(folder, settings.model), device=device, truncate_dim=settings.truncate_dim)
    check_language(settings.language)
    if settings.engine is not None:  # before hours of encoding
        connect(server_uri(settings.engine))
    if newest_generation(folder) is None:
        check_empty(folder)
        encoder = load()  # before the folder is created: a model that fails leaves none behind
        encoder.encode("a damaged model gives no numbers")
        settings = replace(settings, model=pinned_name(settings.model))
    with write_lock(folder, mode=mode), name_write_errors(folder):
        clear_folder(folder)
        current = read_current_state(folder, settings, kind)
        kept = encoder if encoder and current.fingerprint in (None, encoder.fingerprint) else None
        writer = IndexWriter(folder, settings, kind, current, lambda: kept or load())
        try:
            yield writer
        finally:
            writer.close()
