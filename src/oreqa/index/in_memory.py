"""Indexes texts, Documents and rows."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.arguments import as_index_folder, is_list, kind_of
from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats.tables import field_text, pick_fields, row_document
from oreqa.corpus.readers import clean_document, has_text
from oreqa.errors import DocumentError, InputError, describe
from oreqa.index.coverage import Report
from oreqa.index.revisions import IN_MEMORY
from oreqa.index.store import Settings
from oreqa.index.writer import IndexWriter, open_writer
from oreqa.progress import Advance, Progress, no_progress, show

AnyDocument = str | Document | Mapping[str, Any]
"""A text, a Document, or a row: a mapping read like a row of a JSON-lines file."""


def index_documents(
    folder: str | Path,
    documents: AnyDocument | Iterable[AnyDocument],
    settings: Settings | None = None,
    *,
    model: str | Path | None = None,
    prune: bool = False,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Report:
    """Add or update documents that are not files: one, or an iterable of them, published together.

    A text gets a key derived from it: added again, it is the same document. A ``Document`` replaces the one with its key. A
    mapping is read like a row of a JSON-lines file: ``text``, ``title`` and ``id``, or the other usual names for these, and
    everything else as fields to filter by; without an identifier, its key is derived from its content. The rows of a pandas
    DataFrame are such mappings. In search conditions, ``path`` means the key.

    A new index is created with ``settings``, or with the defaults and the ``model``; an existing index keeps its own.
    Documents from files are kept, and so are earlier documents of this function, unless ``prune`` removes those not in
    ``documents``. ``progress`` reports how many passages are encoded. After an interruption, call it again: encoded passages
    are kept.

    Raises DocumentError, and publishes nothing, for a document without text or with the key of another one or of a file's;
    InputError for a value that is not a document; IndexStateError if the index cannot be written or has other settings.

    Examples:
        >>> index_documents("notes", ["Bees dance.", Document("tent", "Tent", "It weighs 2 kg.", fields={"for": "hikers"})])
        Report(added=2, passages=2, encoded=2)
        >>> index_documents("notes", {"id": "tent", "title": "Tent", "text": "It weighs 3 kg.", "for": "hikers"})
        Report(changed=1, passages=2, encoded=1)
    """
    folder, sources = as_index_folder(folder), _listed(documents)
    try:
        with (
            show(progress, "encoding passages") as advance,
            open_writer(folder, settings, device, model=model) as writer,
        ):
            _add_all(writer, sources, advance)
            writer.flush(advance)
            if prune:
                writer.remove_unseen(lambda source: writer.current.revision(source) == IN_MEMORY, prune=True)
            writer.publish(advance)
            return writer.report
    except _CallersError as error:
        raise error.cause from None


class _CallersError(Exception):
    """Carries an error of the caller's generator past the writer, which would take it for an error of a file or SQLite."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause


def _listed(documents: AnyDocument | Iterable[AnyDocument]) -> Iterable[AnyDocument]:
    if isinstance(documents, str | Document | Mapping):
        return [documents]
    if hasattr(documents, "columns") and hasattr(documents, "to_dict"):  # a DataFrame, which iterates over its columns
        rows: list[AnyDocument] = documents.to_dict("records")
        return rows
    if not is_list(documents):
        raise InputError(f"documents are texts, Documents or mappings, or a list of them, not {kind_of(documents)}")
    return documents


def _drawn(sources: Iterable[AnyDocument]) -> Iterator[AnyDocument]:
    iterator = iter(sources)
    while True:
        try:
            source = next(iterator)
        except StopIteration:
            return
        except Exception as error:
            raise _CallersError(error) from error
        yield source


def _add_all(writer: IndexWriter, sources: Iterable[AnyDocument], advance: Advance) -> None:
    keys_made: set[str] = set()
    for number, source in enumerate(_drawn(sources), 1):
        try:
            document, has_new_key = _document(source, number)
        except (RecursionError, ValueError, TypeError) as error:
            raise DocumentError(f"document {number}: a field cannot be written as JSON ({describe(error)})") from error
        if has_new_key and document.key in keys_made:
            continue  # the same text again
        if has_new_key:
            keys_made.add(document.key)
        if writer.current.is_taken(document.key, IN_MEMORY):
            raise DocumentError(f"document {number}: {document.key} is a file's document: give it another key")
        writer.report.read(document)
        writer.add(document, document.key, advance=advance)
        writer.finish_source(document.key, IN_MEMORY)


def _document(source: object, number: int) -> tuple[Document, bool]:
    """Return a document as it is indexed, and whether its key was generated.

    If it cannot be indexed, raises an error that names it by its ``number``, from 1.
    """
    has_new_key = False
    if isinstance(source, str):
        document, has_new_key = Document(_key_of(source), "", source), True
    elif isinstance(source, Mapping):
        row = {str(name): _plain(value) for name, value in source.items()}
        names = pick_fields(row)
        if names.identifier is None:
            key, has_new_key = _key_of(json.dumps(row, sort_keys=True, default=str)), True
        else:
            key = str(row[names.identifier])
        document = row_document(row, key, names)
    elif isinstance(source, Document):
        document = source
    else:
        raise InputError(f"document {number} is {kind_of(source)}; write a text, a Document or a mapping")
    _check(document, f"document {number}")
    fields = {str(name): field_text(_plain(value)) for name, value in document.fields.items()}
    return clean_document(replace(document, fields=fields)), has_new_key


def _key_of(text: str) -> str:
    """Return a generated key: the same for the same text."""
    return f"text-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def _plain(value: Any) -> Any:
    """Convert a field's value to JSON types: numpy numbers to Python's, pandas' missing values to None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str | bool | int | float | list | dict) else str(value)


def _check(document: Document, name: str) -> None:
    for attribute in ("key", "title", "text"):
        value = getattr(document, attribute)
        if not isinstance(value, str):
            raise InputError(f"{name}: its {attribute} is {kind_of(value)}, not a string")
    if not document.key:
        raise DocumentError(f"{name}: its key is empty")
    if len(document.key) > limits.TITLE_CHARACTERS:
        raise DocumentError(f"{name}: its key has {len(document.key):,} characters, more than {limits.TITLE_CHARACTERS}")
    if not has_text(document.text):
        raise DocumentError(f"{name} ({document.key}): it holds no text")
    if len(document.text) > limits.TEXT_CHARACTERS:
        most = f"{limits.TEXT_CHARACTERS // 10**6} million characters"
        raise DocumentError(f"{name} ({document.key}): its text is longer than {most}: split it")
    end = 0
    for section in document.sections:
        if not end <= section.start <= section.end <= len(document.text):
            raise DocumentError(f"{name} ({document.key}): its sections do not follow each other within its text")
        end = section.end
