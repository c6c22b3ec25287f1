"""Reads a file's documents: picks the reader by extension and applies the checks that all formats share."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, cast

from oreqa.core import Document, Section
from oreqa.corpus import containers, limits, process, worker
from oreqa.corpus.containers import Contents, Member
from oreqa.corpus.decode import read_text
from oreqa.corpus.formats import tables
from oreqa.corpus.formats.manual import manual_sections
from oreqa.corpus.formats.pdf.ocr import INSTALL, is_installed
from oreqa.corpus.opening import open_file
from oreqa.corpus.unread import NO_PROSE, how_to_convert, how_to_unpack, may_be_gzipped_text
from oreqa.errors import DocumentError, describe
from oreqa.visible import counted


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a table's text, title and identifier; None means the common names.

    Examples:
        >>> Fields(text="abstract", id="doi")
        Fields(text='abstract', title=None, id='doi')
    """

    text: str | None = None
    title: str | None = None
    id: str | None = None


_TEXTS = (".txt", ".text")
_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson")
_CONTAINERS = (".zip", ".mbox")
_MAY_BE_GZIPPED = (*_TEXTS, *worker.TEXT_SUFFIXES, *_ROWS)

SUFFIXES = (*_TEXTS, *worker.PARSERS, *worker.MAILS, *_ROWS, *_CONTAINERS, *(f"{suffix}.gz" for suffix in _MAY_BE_GZIPPED))
"""Extensions of the supported formats, in lower case."""

_SHOWN_UNREAD = 3
"""How many of the unread members are named."""

_RST_MARKUP = re.compile(rb"^\.\. (?:_[^\n]{1,200}:|[\w-]{1,40}::)|:[a-z]{2,12}:`[^`\n]", re.MULTILINE)
"""A target, a directive or a role of reStructuredText, which many projects store in .txt files."""

_FEWEST_MARKUP = 2
_WORD = re.compile(r"\w")
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_supported(path: Path) -> bool:
    """Return whether ``path`` has the extension of a supported format, or is a manual page or DocBook."""
    return path.name.lower().endswith(SUFFIXES) or _is_recognized(path)


def _is_recognized(path: Path) -> bool:
    """Return whether a file has a format recognized only by its name and content together."""
    inner = _unpacked(path)
    if not worker.may_be_recognized(inner):
        return False
    try:
        with open_file(path) as file:
            head = cast(IO[bytes], gzip.open(file) if inner is not path else file).read(limits.HEAD_BYTES)
    except (OSError, EOFError, zlib.error, DocumentError):
        return False
    return worker.is_recognized(inner, head)


def _unpacked(path: Path) -> Path:
    """Return a file's name without the extension of gzip."""
    return path.with_suffix("") if path.name.lower().endswith(".gz") else path


def has_text(text: str) -> bool:
    """Return whether any character of a text is visible: not white space, a control or a zero-width character."""
    return bool(_WORD.search(text)) or any(c.isprintable() and not c.isspace() for c in text)


def read_documents(
    path: Path, fields: Fields | None = None, on_unread: Callable[[str], None] = lambda line: None
) -> Iterator[Document]:
    """Yield one file's documents.

    Tables have one per row; archives, mailboxes and mails with attachments those of every member; other files one.

    A member's key is that of its file, "#" and its name. ``on_unread`` gets a line about the members that cannot be read,
    and about tables with rows that have more fields than their header.

    Every string of a document can be encoded as UTF-8. Raises only DocumentError, with a one-line reason, whatever the file
    contains; for tables possibly after some rows were yielded. A file without text is an error. One without a supported
    extension, such as README, is read as plain text if it is text.
    """
    empty, contents = True, Contents()
    unread = contents.unread
    try:
        for document in _documents(path, fields or Fields(), contents):
            if has_text(document.text):
                empty = False
                yield clean_document(document)
    except DocumentError:
        raise
    except MemoryError:
        raise DocumentError("there is not enough memory to read it: split it") from None
    except OSError as error:
        raise DocumentError(f"it cannot be read: {error.strerror or describe(error)}") from error
    except Exception as error:  # libraries may raise anything on a damaged file
        raise DocumentError(f"it is damaged ({describe(error)})") from error
    shown = f"{', '.join(unread[:_SHOWN_UNREAD])}{', ...' if len(unread) > _SHOWN_UNREAD else ''}"
    if empty:
        scan = f" ({INSTALL})" if path.suffix.lower() == ".pdf" and not is_installed() else ""
        raise DocumentError(f"it holds no text{f' that can be read: {shown}' if unread else scan}")
    if unread:
        on_unread(f"{counted(len(unread), 'file')} in it not read: {shown}")
    for line in contents.warnings[:_SHOWN_UNREAD]:
        on_unread(line)


def _documents(path: Path, fields: Fields, contents: Contents) -> Iterator[Document]:
    if _SURROGATE.search(str(path)):
        raise DocumentError("its name is not UTF-8: rename it")
    inner = _unpacked(path)
    suffix = inner.suffix.lower()
    if path.suffix.lower() in worker.NAMED_ALONE:
        yield from _from_bytes(str(path), path, _read(path, limits.PARSED_FILE_BYTES, gzipped=False), fields, contents)
    elif path.suffix.lower() in _CONTAINERS:
        with open_file(path) as file:
            yield from _members(str(path), _contained(suffix, file, contents), fields, contents)
    elif not is_supported(path):
        with open_file(path) as file:
            if containers.is_mailbox(file.read(limits.HEAD_BYTES)):
                file.seek(0)
                yield from _members(str(path), containers.mailbox_messages(file), fields, contents)
                return
        yield _read_unknown(path)
    elif suffix in _ROWS:
        with open_file(path) as file:
            yield from tables.read_rows(file, path, fields.text, fields.title, fields.id, contents.warnings.append)
    else:
        data = _read(path, _most_bytes(suffix), gzipped=inner is not path)
        yield from _from_bytes(str(path), inner, data, fields, contents)


def _most_bytes(suffix: str) -> int:
    return limits.TEXT_FILE_BYTES if suffix in _TEXTS else limits.PARSED_FILE_BYTES


def _from_bytes(key: str, name: Path, data: bytes, fields: Fields, contents: Contents, depth: int = 0) -> Iterator[Document]:
    """Yield the document of a file that is no table and no container, and the documents attached to it."""
    if name.suffix.lower() in _TEXTS:
        yield replace(_plain_or_marked_up(name, data), key=key)
        return
    document, attached = process.parse(name, data)
    yield replace(document, key=key)
    members = (Member(*file) for file in attached)
    for attachment in _members(key, members, fields, contents, depth):
        yield replace(attachment, fields={**document.fields, **attachment.fields})


def _plain_or_marked_up(name: Path, data: bytes) -> Document:
    """Read a text, as reStructuredText if it is marked up as such and can be parsed."""
    if _is_rst(data):
        with suppress(DocumentError):
            return process.parse(name.with_suffix(".rst"), data)[0]
    document = read_text(data, name)
    return replace(document, sections=manual_sections(document.text))


def _is_rst(data: bytes) -> bool:
    """Return whether a text of moderate size is marked up as reStructuredText."""
    markup = islice(_RST_MARKUP.finditer(data), _FEWEST_MARKUP)
    return len(data) <= limits.PARSED_FILE_BYTES and len(list(markup)) == _FEWEST_MARKUP


def _contained(suffix: str, file: IO[bytes], contents: Contents) -> Iterator[Member]:
    return containers.zip_members(file, contents) if suffix == ".zip" else containers.mailbox_messages(file)


def _members(key: str, members: Iterable[Member], fields: Fields, contents: Contents, depth: int = 0) -> Iterator[Document]:
    """Yield the documents of the members of a file with this ``key``; equal names are numbered: "plan.txt", "plan (2).txt".

    What cannot be read is added to the ``contents``.
    """
    taken: set[str] = set()
    times: Counter[str] = Counter()
    for member in members:
        name = containers.free_name(member.name, taken, times)
        try:
            if member.data is None:
                raise DocumentError(member.problem)
            if depth == limits.NESTED:
                raise DocumentError("it lies too deep in other files")
            empty, before = True, len(contents.unread)
            path = Path(member.name + member.suffix)
            for document in _from_member(f"{key}#{name}", path, member.data, fields, contents, depth + 1):
                if has_text(document.text):
                    empty = False
                    yield document
            if empty and len(contents.unread) == before:
                raise DocumentError("it holds no text")
        except MemoryError:
            raise
        except Exception as error:  # libraries may raise anything on a damaged file
            reason = str(error) if isinstance(error, DocumentError) else f"it is damaged ({describe(error)})"
            contents.unread.append(f"{name} ({reason})")


def _from_member(key: str, name: Path, data: bytes, fields: Fields, contents: Contents, depth: int) -> Iterator[Document]:
    inner = _unpacked(name)
    suffix = inner.suffix.lower()
    if inner is not name:
        data = _unzipped(io.BytesIO(data), _most_bytes(suffix))
        contents.unpack(len(data))
    if suffix in _ROWS:
        _check_size(len(data), limits.PARSED_FILE_BYTES, inner, "is larger")
        warnings: list[str] = []
        for document in tables.read_rows(io.BytesIO(data), inner, fields.text, fields.title, fields.id, warnings.append):
            yield replace(document, key=key + document.key.removeprefix(str(inner)))
        contents.warnings += [f"{name}: {line}" for line in warnings]
    elif suffix in _CONTAINERS:
        yield from _members(key, _contained(suffix, io.BytesIO(data), contents), fields, contents, depth)
    elif inner.name.lower().endswith(SUFFIXES) or (
        worker.may_be_recognized(inner) and worker.is_recognized(inner, data[: limits.HEAD_BYTES])
    ):
        _check_size(len(data), _most_bytes(suffix), inner, "is larger")
        yield from _from_bytes(key, inner, data, fields, contents, depth)
    else:
        raise DocumentError("its file type is not supported")


def _read_unknown(path: Path) -> Document:
    unpacking, inner, is_gzipped = how_to_unpack(path), _unpacked(path), may_be_gzipped_text(path)
    if unpacking and not is_gzipped:
        raise DocumentError(unpacking)
    data = _read(path, limits.TEXT_FILE_BYTES, gzipped=is_gzipped)
    try:
        if data.startswith(NO_PROSE):
            raise DocumentError("it is not plain text")
        document = read_text(data, inner)
        return replace(document, key=str(path), sections=manual_sections(document.text))
    except DocumentError:
        converting = how_to_convert(Path(path.name)) or "its file type is not supported, and it is not plain text"
        raise DocumentError(unpacking or converting) from None


def _read(path: Path, limit: int, gzipped: bool) -> bytes:
    """Read a file, unpacked if it is ``gzipped``. Raises DocumentError if the result exceeds ``limit`` bytes."""
    with open_file(path) as file:
        data = _unzipped(file, limit) if gzipped else file.read(limit + 1)
    _check_size(len(data), limit, path, "unpacks to more" if gzipped else "is larger")
    return data


def _unzipped(file: IO[bytes], limit: int) -> bytes:
    """Unpack a gzip file, up to one byte more than the ``limit``."""
    try:
        return cast(IO[bytes], gzip.open(file)).read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DocumentError(f"it is a damaged gzip file ({error})") from error


def _check_size(size: int, limit: int, path: Path, what: str) -> None:
    if size > limit:
        kind = path.suffix.lower() or "such"
        raise DocumentError(f"it {what} than {limit >> 20} MB, the limit for {kind} files: split it")


def clean_document(document: Document) -> Document:
    """Replace lone surrogates, which JSON and PDF allow and UTF-8 does not, and bound the length of names."""
    return Document(
        _without_surrogates(document.key),
        _short_name(document.title),
        _without_surrogates(document.text),
        tuple(Section(s.start, s.end, _short_name(s.heading)) for s in document.sections),
        {_without_surrogates(name): _without_surrogates(value) for name, value in document.fields.items()},
        tuple(replace(place, name=_short_name(place.name)) for place in document.places),
        document.pages,
        document.layout,
    )


def _short_name(text: str) -> str:
    return _without_surrogates(text[: limits.TITLE_CHARACTERS])


def _without_surrogates(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
