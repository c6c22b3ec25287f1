"""Tables whose rows are documents: CSV, TSV and JSON lines, plain or gzipped, read one row at a time.

A row's text is its named text field, or one with a common name; without one it is all of the row's columns with their names.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from threading import Lock
from typing import IO, Any, cast

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.decode import detect_encoding
from oreqa.errors import DocumentError
from oreqa.text.rows import row_text

TEXT_FIELDS = ("text", "content", "contents", "page_content", "body", "passage", "context", "paragraph")
TITLE_FIELDS = ("title", "name", "headline")
ID_FIELDS = ("_id", "id", "key", "doc_id", "docid")

_DELIMITERS = ",;\t|"
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 20, 1 << 16
_SEPARATOR_LINE = re.compile(r"sep=([,;\t|:^~ ])\s*", re.IGNORECASE)  # written by Excel
_SHORT_TITLE = range(3, 61)
_LONG_VALUE = 100
"""If a value is longer than this, in characters, each column of the row gets its own line."""


def read_rows(file: IO[bytes], path: Path, text: str | None, title: str | None, key: str | None) -> Iterator[Document]:
    """Yield a document per row; ``text``, ``title`` and ``key`` name its text, title and identifier fields.

    Where they are None, fields with common names are used. Without text, a row's text is all of its columns ("country:
    Bhutan; capital: Thimphu") and its title, if it has none, its first short value with letters in a column that does not
    hold the same in the first rows; without an identifier it is identified by its number, from 1. The other fields are kept
    as strings, for filters. Raises DocumentError that names the row: each has the text field, the first one every named one.
    """
    seen: set[str] = set()
    rows, constant = _with_constant(_rows(file, path.name.lower()))
    for number, row in enumerate(rows, 1):
        asked = {"--text-field": text, "--title-field": title, "--id-field": key} if number == 1 else {"--text-field": text}
        for option, name in asked.items():
            if name is not None and name not in row:
                fields = _field_names(row) or "none"
                raise DocumentError(f"row {number} has no field {name!r}; its fields are {fields}: name one with {option}")
        names = pick_fields(row, text, title, key)
        identifier = str(number) if names.identifier is None else str(row[names.identifier])
        if len(identifier) > limits.TITLE_CHARACTERS:
            raise DocumentError(
                f"row {number} has an identifier of {len(identifier):,} characters, more than {limits.TITLE_CHARACTERS}: "
                "name another field with --id-field"
            )
        if identifier in seen:
            raise DocumentError(f"row {number} repeats the identifier {identifier!r}: name another field with --id-field")
        seen.add(identifier)
        document = row_document(row, f"{path}#{identifier}", names, constant)
        if document.text.strip():
            yield document


@dataclass(frozen=True, slots=True)
class FieldNames:
    """The names of the fields that hold a row's text, title and identifier; None for a row without one."""

    text: str | None
    title: str | None
    identifier: str | None


def pick_fields(
    row: Mapping[str, Any], text: str | None = None, title: str | None = None, key: str | None = None
) -> FieldNames:
    """Return a row's fields of these names, or by default those with common names."""
    body = _pick(row, text, TEXT_FIELDS)
    if body is not None and text is None and not any(map(str.isalpha, field_text(row[body]))):
        body = None  # no text, as in a table of body weights: use all columns
    return FieldNames(body, _pick(row, title, TITLE_FIELDS), _pick(row, key, ID_FIELDS))


def row_document(row: Mapping[str, Any], key: str, names: FieldNames, constant: Set[str] = frozenset()) -> Document:
    """Return a row as the document ``key``, which may have no text. All but text, title and identifier become its fields.

    Its title is not taken from the ``constant`` columns, which hold the same in other rows.
    """
    named = (names.text, names.title, names.identifier)
    fields = {name: field_text(value) for name, value in row.items() if name not in named and value is not None}
    title = field_text(row[names.title]) if names.title else ""
    if names.text is not None:
        return Document(key, title, field_text(row[names.text]), (), fields)
    title = title if names.title else _short_title(row, {names.identifier, *constant})
    return Document(key, title, _named_columns(row), (), fields)


def _pick(row: Mapping[str, Any], field: str | None, common: tuple[str, ...]) -> str | None:
    if field is not None:
        return field if field in row else None
    return next((name for name in common if row.get(name) is not None), None)


def field_text(value: Any) -> str:
    """Return a field's value as a string: "" for None, JSON for anything but a string."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _named_columns(row: Mapping[str, Any]) -> str:
    """Return a row's columns with their names, without empty ones."""
    values = [(name.strip(), _value(value)) for name, value in row.items()]
    filled = [(name, value) for name, value in values if value]
    gap = "\n" if any(len(value) > _LONG_VALUE or "\n" in value for _, value in filled) else "; "
    return row_text(filled, gap)


def _value(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ", ".join(filter(None, map(_value, value)))
    return field_text(value).strip()


def _short_title(row: Mapping[str, Any], skipped: Set[str | None]) -> str:
    """Return the first value outside the ``skipped`` columns that looks like a name: short, and starting with a letter."""
    values = (value.strip() for name, value in row.items() if name not in skipped and isinstance(value, str))
    return next((value for value in values if len(value) in _SHORT_TITLE and _is_name(value)), "")


def _with_constant(rows: Iterator[dict[str, Any]]) -> tuple[Iterator[dict[str, Any]], Set[str]]:
    """Return the rows, and the columns that hold a single value in two or more of the first of them."""
    sample: list[dict[str, Any]] = []
    size = 0
    try:
        for row in islice(rows, _SAMPLE_LINES):
            sample.append(row)
            size += sum(len(field_text(value)) for value in row.values())
            if size > _SAMPLE_CHARACTERS:
                break
    except DocumentError as error:
        rows = map(_raise, [error])  # after the rows before it
    values: dict[str, list[str]] = {}
    for row in sample:
        for name, value in row.items():
            values.setdefault(name, []).append(field_text(value))
    constant = {name for name, texts in values.items() if len(texts) > 1 == len(set(texts))}
    return chain(sample, rows), constant


def _raise(error: DocumentError) -> dict[str, Any]:
    raise error


def _is_name(value: str) -> bool:
    return value[0].isalpha() and "\n" not in value and "://" not in value and "@" not in value


def _field_names(row: Mapping[str, Any]) -> str:
    """List the names of a row's first ten fields."""
    names = ", ".join(repr(name[:40]) for name in list(row)[:10])
    return f"{names}, ..." if len(row) > 10 else names


def _rows(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    try:
        name, gzipped = name.removesuffix(".gz"), name.endswith(".gz")
        json_lines = name.endswith((".jsonl", ".ndjson"))
        lines = _unpacked_lines(file, not json_lines) if gzipped else _lines(file, not json_lines)
        if json_lines:
            yield from _json_rows(lines)
        elif name.endswith(".tsv"):
            yield from _separated_rows(lines, "\t")
        else:
            yield from _separated_rows(*_sniffed(lines))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DocumentError(f"it is a damaged gzip file ({error})") from error


def _json_rows(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits are a ValueError
            raise DocumentError(f"line {number} is not JSON: write each row as one object on a line of its own") from error
        if not isinstance(row, dict):
            raise DocumentError(f"line {number} is a JSON {type(row).__name__}, not an object with fields")
        yield row


def _sniffed(lines: Iterator[str]) -> tuple[Iterator[str], str]:
    """Return the lines and their delimiter: the one under which the first rows agree best, a comma if none does."""
    sample: list[str] = []
    for line in islice(lines, _SAMPLE_LINES):
        sample.append(line)
        if sum(map(len, sample)) > _SAMPLE_CHARACTERS:
            break
    stated = _SEPARATOR_LINE.fullmatch(sample[0]) if sample else None
    if stated:
        return chain(sample[1:], lines), stated.group(1)
    return chain(sample, lines), max(_DELIMITERS, key=lambda delimiter: _agreement(sample, delimiter))


def _agreement(sample: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of the sample's rows with as many columns as the first, and that number; 0 for one column."""
    try:
        counts = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
    except csv.Error:
        counts = []
    if not counts or counts[0] < 2:
        return 0, 0
    return sum(count == counts[0] for count in counts) / len(counts), counts[0]


def _unique(names: Iterable[str]) -> list[str]:
    """Make column names unique: a repeated "price" becomes "price 2", the third column, if unnamed, "column 3"."""
    header = [name.strip() for name in names]
    taken = set(header)
    unique: list[str] = []
    for place, name in enumerate(header, 1):
        first = name and name not in unique
        unique.append(name if first else _free_name(name or "column", 2 if name else place, taken))
        taken.add(unique[-1])
    return unique


def _free_name(name: str, number: int, taken: Set[str]) -> str:
    return next(f"{name} {n}" for n in count(number) if f"{name} {n}" not in taken)


def _separated_rows(lines: Iterator[str], delimiter: str) -> Iterator[dict[str, Any]]:
    row_lines: list[str] = []  # of the row being read: quoted values may span lines

    def bounded_lines() -> Iterator[str]:
        size = 0
        for line in lines:
            size = size + len(line) if row_lines else len(line)
            row_lines.append(line)
            if size > limits.ROW_BYTES:
                limit = f"{limits.ROW_BYTES >> 20} MB"
                raise DocumentError(f"line {reader.line_num + 1} is in a row of more than {limit}: is a quote left open?")
            yield line

    reader = csv.reader(bounded_lines(), delimiter=delimiter)
    header: list[str] = []
    last: list[str] = []
    extra = ""
    try:
        for row in _with_long_fields(reader):
            last = row_lines.copy()
            row_lines.clear()
            if len(row) > limits.ROW_FIELDS:
                raise DocumentError(f"line {reader.line_num} has more than {limits.ROW_FIELDS:,} fields")
            if not header:
                header = _unique(row)
                extra = "extra" if "extra" not in header else _free_name("extra", 2, set(header))
            elif row:
                named: dict[str, Any] = dict(zip(header, row, strict=False))
                yield {**named, extra: row[len(header) :]} if len(row) > len(header) else named
        if not _closes_quotes(last, delimiter):  # all lines after the quote became one cell
            begin = reader.line_num - len(last) + 1
            raise DocumentError(f"line {begin} opens a quote that is never closed: close it, or double it")
    except csv.Error as error:
        if "universal-newline" in str(error):
            raise DocumentError("its lines end in bare carriage returns: save it with the usual line ends") from error
        raise DocumentError(f"line {reader.line_num} is not a row of this table ({error})") from error


def _with_long_fields(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield a csv reader's rows with fields as long as a row may be; restores the process's limit after each."""
    while True:
        with _FIELD_LIMIT:
            limit = csv.field_size_limit()
            csv.field_size_limit(max(limit, limits.ROW_BYTES))
            try:
                row = next(reader)
            except StopIteration:
                return
            finally:
                csv.field_size_limit(limit)
        yield row


_FIELD_LIMIT = Lock()
"""Held while csv's field limit, which is global to the process, is changed."""


def _closes_quotes(row: Sequence[str], delimiter: str) -> bool:
    """Return whether the lines of a row close every quote that they open."""
    try:
        list(_with_long_fields(csv.reader(row, delimiter=delimiter, strict=True)))
    except csv.Error as error:
        return "unexpected end" not in str(error)
    return True


def _unpacked_lines(file: IO[bytes], guess: bool) -> Iterator[str]:
    limit = limits.GZIP_RATIO * os.fstat(file.fileno()).st_size + limits.PARSED_FILE_BYTES
    unpacked = cast(IO[bytes], gzip.open(file))
    for line in _lines(unpacked, guess):
        if unpacked.tell() > limit:
            raise DocumentError(f"it unpacks to more than {limits.GZIP_RATIO} times its size")
        yield line


def _lines(file: IO[bytes], guess: bool) -> Iterator[str]:
    """Yield the decoded lines of a file. Raises DocumentError for lines longer than the limit for rows.

    With ``guess``, the encoding is detected from the first line that is not ASCII, otherwise from the first line.
    """
    encoding = ""
    number = 0
    while line := file.readline(limits.ROW_BYTES + 1):
        number += 1
        if len(line) > limits.ROW_BYTES:
            raise DocumentError(f"line {number} is longer than {limits.ROW_BYTES >> 20} MB: split it")
        if not encoding or (encoding == "ascii" and not line.isascii()):
            encoding = "ascii" if guess and line.isascii() and b"\0" not in line else _encoding(line, file)
        if encoding in ("utf-16", "utf-32"):
            raise DocumentError(f"it is encoded as {encoding}: save it as UTF-8")
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError:
            raise DocumentError(f"line {number} is not {encoding}: save the file as UTF-8") from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"


def _encoding(line: bytes, file: IO[bytes]) -> str:
    """Detect a file's encoding from a line and, if it is only a guess, from the buffered lines after it too."""
    encoding = detect_encoding(line)
    return encoding if encoding.startswith("utf") else detect_encoding(line + cast(io.BufferedReader, file).peek(1))
