"""Read a file's documents: picks the reader by extension and applies the checks that all formats share."""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from oreqa.core import Document, Section
from oreqa.corpus import limits, process, worker
from oreqa.corpus.decode import read_text
from oreqa.corpus.formats import tables
from oreqa.corpus.formats.manual import manual_sections
from oreqa.errors import DocumentError, describe


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a table's rows that hold the text, the title and the identifier; None means the common names.

    Examples:
        >>> Fields(text="abstract", id="doi")
        Fields(text='abstract', title=None, id='doi')
    """

    text: str | None = None
    title: str | None = None
    id: str | None = None


_TEXTS = (".txt", ".text")
_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson")
_MAY_BE_GZIPPED = (*_TEXTS, *worker.TEXT_SUFFIXES, *_ROWS)

SUFFIXES = (*_TEXTS, *worker.PARSERS, *_ROWS, *(f"{suffix}.gz" for suffix in _MAY_BE_GZIPPED))
"""Extensions of the supported formats, in lower case."""

_NO_PROSE = (b"{\\rtf", b"%PDF-", b"%!PS")
"""How files of other types begin that may look like text."""

_WORD = re.compile(r"\w")
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_supported(path: Path) -> bool:
    """Return whether ``path`` has the extension of a supported format, or is a manual page or DocBook."""
    return path.name.lower().endswith(SUFFIXES) or _is_recognized(path)


def _is_recognized(path: Path) -> bool:
    """Whether a file is of a format that only its name and its content together tell."""
    inner = _unpacked(path)
    if not worker.may_be_recognized(inner):
        return False
    try:
        with open_file(path) as file:
            head = cast(IO[bytes], gzip.open(file) if inner is not path else file).read(worker.HEAD_BYTES)
    except (OSError, EOFError, zlib.error, DocumentError):
        return False
    return worker.is_recognized(inner, head)


def _unpacked(path: Path) -> Path:
    """The name of a file without the extension of gzip."""
    return path.with_suffix("") if path.name.lower().endswith(".gz") else path


def has_text(text: str) -> bool:
    """Return whether any character of a text is visible: not white space, a control or a zero-width character."""
    return bool(_WORD.search(text)) or any(c.isprintable() and not c.isspace() for c in text)


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document]:
    """Read one file's documents: one per row for tables, one per file for other formats.

    Every string of a document can be encoded as UTF-8. Raises only DocumentError, with a one-line reason, whatever the file
    holds; for tables possibly after some rows were yielded. A file without text is an error. One without the extension of a
    supported format, as README, is read as plain text if it is text.
    """
    empty = True
    try:
        for document in _documents(path, fields or Fields()):
            if has_text(document.text):
                empty = False
                yield clean_document(document)
    except DocumentError:
        raise
    except MemoryError:
        raise DocumentError("there is not enough memory to read it: split it") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror or describe(error)}") from error
    except Exception as error:  # whatever a library raises on a damaged file
        raise DocumentError(f"it is damaged ({describe(error)})") from error
    if empty:
        raise DocumentError(
            "it holds no text" + (" (a scanned PDF needs OCR first)" if path.suffix.lower() == ".pdf" else "")
        )


def _documents(path: Path, fields: Fields) -> Iterator[Document]:
    if _SURROGATE.search(str(path)):
        raise DocumentError("its name is not UTF-8: rename it")
    inner = _unpacked(path)
    gzipped = inner is not path
    suffix = inner.suffix.lower()
    if not is_supported(path):
        yield _read_unknown(path)
        return
    if suffix in _ROWS:
        with open_file(path) as file:
            yield from tables.read_rows(file, path, fields.text, fields.title, fields.id)
        return
    if suffix in _TEXTS:
        document = read_text(_read(path, limits.TEXT_FILE_BYTES, gzipped), inner)
        document = replace(document, sections=manual_sections(document.text))
    else:
        document = process.parse(inner, _read(path, limits.PARSED_FILE_BYTES, gzipped))
    yield replace(document, key=str(path))


def _read_unknown(path: Path) -> Document:
    data = _read(path, limits.TEXT_FILE_BYTES, gzipped=False)
    try:
        if data.startswith(_NO_PROSE):
            raise DocumentError("it is not plain text")
        document = read_text(data, path)
        return replace(document, sections=manual_sections(document.text))
    except DocumentError:
        raise DocumentError(
            f"its file type is not supported, and it is not plain text; supported: {', '.join(SUFFIXES)}"
        ) from None


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file for reading. Raises DocumentError for others, which could block or never end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise DocumentError("it is not a regular file")


def _read(path: Path, limit: int, gzipped: bool) -> bytes:
    """Read a file, unpacked if it is ``gzipped``. Raises DocumentError if that gives more than ``limit`` bytes."""
    with open_file(path) as file:
        try:
            data = cast(IO[bytes], gzip.open(file)).read(limit + 1) if gzipped else file.read(limit + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DocumentError(f"it is a damaged gzip file ({error})") from error
    if len(data) > limit:
        raise DocumentError(
            f"it {'unpacks to more' if gzipped else 'is larger'} than {limit >> 20} MB, "
            f"the limit for {path.suffix.lower() or 'such'} files: split it"
        )
    return data


def clean_document(document: Document) -> Document:
    """Replace lone surrogates, which JSON and PDF can hold and UTF-8 cannot, and bound the length of names."""
    return Document(
        _without_surrogates(document.key),
        _short_name(document.title),
        _without_surrogates(document.text),
        tuple(Section(s.start, s.end, _short_name(s.heading)) for s in document.sections),
        {_without_surrogates(name): _without_surrogates(value) for name, value in document.fields.items()},
        tuple(replace(place, name=_short_name(place.name)) for place in document.places),
        document.pages,
    )


def _short_name(text: str) -> str:
    return _without_surrogates(text[: limits.TITLE_CHARACTERS])


def _without_surrogates(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
