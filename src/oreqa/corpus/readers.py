"""One file to its documents: which reader serves which format, and what all share."""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from oreqa.core import Document, Section
from oreqa.corpus import limits, process, worker
from oreqa.corpus.formats import tables, text
from oreqa.errors import DocumentError, describe


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a table's rows hold the text, the title and the identifier; None means the usual names."""

    text: str | None = None
    title: str | None = None
    id: str | None = None


_TEXTS: dict[str, Callable[[bytes, Path], Document]] = {
    ".txt": text.read_text,
    ".text": text.read_text,
    ".rst": text.read_text,
}
_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson")
_PACKED = (*_TEXTS, ".md", ".markdown", ".html", ".htm", ".xhtml", *_ROWS)
"""What may be gzipped: text, in whatever format."""

SUFFIXES = (*_TEXTS, *worker.PARSERS, *_ROWS, *(f"{suffix}.gz" for suffix in _PACKED))

_WORD = re.compile(r"\w")
_SURROGATE = re.compile("[\ud800-\udfff]")


def known(path: Path) -> bool:
    """Whether the name of ``path`` is one of a format that can be read."""
    return path.name.lower().endswith(SUFFIXES)


def has_text(text: str) -> bool:
    """Whether a text shows anything: blanks, control characters and characters without width do not."""
    return bool(_WORD.search(text)) or any(c.isprintable() and not c.isspace() for c in text)


def read_documents(path: Path, fields: Fields | None = None) -> Iterator[Document]:
    """Read one file; tables give a document a row. A file without any text is refused.

    Raises nothing but DocumentError, with a one-line reason, whatever the file holds; possibly after some rows were given.
    Everything that a document holds can be encoded as UTF-8.
    """
    empty = True
    try:
        for document in _documents(path, fields or Fields()):
            if has_text(document.text):
                empty = False
                yield _sound(document)
    except DocumentError:
        raise
    except MemoryError:
        raise DocumentError("there is not enough memory to read it: split it") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror or describe(error)}") from error
    except Exception as error:  # a library that a damaged file surprised
        raise DocumentError(f"it is damaged ({describe(error)})") from error
    if empty:
        raise DocumentError(
            "it holds no text" + (" (a scanned PDF needs OCR first)" if path.suffix.lower() == ".pdf" else "")
        )


def _documents(path: Path, fields: Fields) -> Iterator[Document]:
    if _SURROGATE.search(str(path)):
        raise DocumentError("its name is not UTF-8: rename it")
    packed = path.name.lower().endswith(".gz")
    inner = path.with_suffix("") if packed else path
    suffix = inner.suffix.lower()
    if not known(path):
        raise DocumentError(f"files of this kind cannot be read; known: {', '.join(SUFFIXES)}")
    if suffix in _ROWS:
        with open_file(path) as file:
            yield from tables.read_rows(file, path, fields.text, fields.title, fields.id)
        return
    if suffix in _TEXTS:
        document = _TEXTS[suffix](_read(path, limits.TEXT_FILE_BYTES, packed), inner)
    else:
        document = process.parse(inner, _read(path, limits.PARSED_FILE_BYTES, packed))
    yield replace(document, key=str(path))


def open_file(path: Path) -> IO[bytes]:
    """A regular file, opened for reading. Others could wait for ever or never end, and raise DocumentError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise DocumentError("it is not a regular file")


def _read(path: Path, limit: int, packed: bool) -> bytes:
    """A file's bytes, unpacked if it is ``packed``: neither form may be larger than ``limit``."""
    with open_file(path) as file:
        try:
            data = cast(IO[bytes], gzip.open(file)).read(limit + 1) if packed else file.read(limit + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DocumentError(f"it is a damaged gzip file ({error})") from error
    if len(data) > limit:
        raise DocumentError(
            f"it {'unpacks to more' if packed else 'is larger'} than {limit >> 20} MB, "
            f"the limit for {path.suffix.lower()} files: split it"
        )
    return data


def _sound(document: Document) -> Document:
    """Without halves of characters, which JSON and PDF can hold and UTF-8 cannot, and with names of bounded length."""
    return Document(
        _whole(document.key),
        _whole(document.title[: limits.TITLE_CHARACTERS]),
        _whole(document.text),
        tuple(Section(s.start, s.end, _whole(s.heading[: limits.TITLE_CHARACTERS])) for s in document.sections),
        {_whole(name): _whole(value) for name, value in document.fields.items()},
        tuple(replace(place, name=_whole(place.name[: limits.TITLE_CHARACTERS])) for place in document.places),
        document.pages,
    )


def _whole(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
