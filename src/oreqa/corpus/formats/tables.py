"""Tables whose rows are documents: CSV, TSV and JSON lines, plain or gzipped, read a row at a time."""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.decode import detect_encoding
from oreqa.errors import DocumentError

TEXT_FIELDS = ("text", "content", "contents", "body", "passage", "context", "paragraph")
TITLE_FIELDS = ("title", "name", "headline")
ID_FIELDS = ("_id", "id", "key", "doc_id", "docid")


def read_rows(file: IO[bytes], path: Path, text: str | None, title: str | None, key: str | None) -> Iterator[Document]:
    """A document for each row: ``text`` and ``title`` name its fields, ``key`` the one that identifies it.

    Without names the usual ones are looked for. A row without an identifier is known by its number, from 1. All other
    fields are kept, as strings, to filter by. Raises DocumentError that names the row.
    """
    seen: set[str] = set()
    for number, row in enumerate(_rows(file, path.name.lower()), 1):
        body = _pick(row, text, TEXT_FIELDS)
        if body is None:
            raise DocumentError(
                f"row {number} has no {f'field {text!r}' if text else 'text field'}; "
                f"its fields are {_some(row) or 'none'}: name one with --text-field"
            )
        identifier = _pick(row, key, ID_FIELDS)
        name = str(number) if identifier is None else str(row[identifier])
        if len(name) > limits.TITLE_CHARACTERS:
            raise DocumentError(
                f"row {number} has an identifier of {len(name):,} characters, more than {limits.TITLE_CHARACTERS}: "
                "name another field with --id-field"
            )
        if name in seen:
            raise DocumentError(f"row {number} repeats the identifier {name!r}: name another field with --id-field")
        seen.add(name)
        heading = _pick(row, title, TITLE_FIELDS)
        content = _string(row[body])
        if content.strip():
            fields = {k: _string(v) for k, v in row.items() if k not in (body, heading, identifier) and v is not None}
            yield Document(f"{path}#{name}", _string(row[heading]) if heading else "", content, (), fields)


def _pick(row: Mapping[str, Any], named: str | None, usual: tuple[str, ...]) -> str | None:
    if named is not None:
        return named if named in row else None
    return next((name for name in usual if row.get(name) is not None), None)


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _some(row: Mapping[str, Any]) -> str:
    """The names of a row's first fields."""
    names = ", ".join(repr(name[:40]) for name in list(row)[:10])
    return f"{names}, ..." if len(row) > 10 else names


def _rows(file: IO[bytes], name: str) -> Iterator[dict[str, Any]]:
    try:
        lines = _unpacked_lines(file) if name.endswith(".gz") else _lines(file)
        if name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
            yield from _json_rows(lines)
        else:
            yield from _separated_rows(lines, "\t" if name.endswith(".tsv") else ",")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DocumentError(f"it is a damaged gzip file ({error})") from error


def _json_rows(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits are a ValueError
            raise DocumentError(f"line {number} is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise DocumentError(f"line {number} is a JSON {type(row).__name__}, not an object with fields")
        yield row


def _separated_rows(lines: Iterator[str], delimiter: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(max(csv.field_size_limit(), limits.ROW_BYTES))
    taken = 0  # of the row that is being read, which quotes may spread over many lines

    def counted() -> Iterator[str]:
        nonlocal taken
        for line in lines:
            taken += len(line)
            if taken > limits.ROW_BYTES:
                most = f"{limits.ROW_BYTES >> 20} MB"
                raise DocumentError(f"line {reader.line_num + 1} is in a row of more than {most}: is a quote left open?")
            yield line

    reader = csv.reader(counted(), delimiter=delimiter)
    header: list[str] = []
    try:
        for row in reader:
            taken = 0
            if len(row) > limits.ROW_FIELDS:
                raise DocumentError(f"line {reader.line_num} has more than {limits.ROW_FIELDS:,} fields")
            if not header:
                header = row
            elif row:
                named: dict[str, Any] = dict(zip(header, row, strict=False))
                yield {**named, "extra": row[len(header) :]} if len(row) > len(header) else named
    except csv.Error as error:
        if "universal-newline" in str(error):
            raise DocumentError("its lines end in carriage returns alone: save it with the usual line ends") from error
        raise DocumentError(f"line {reader.line_num} is not a row of this table ({error})") from error


def _unpacked_lines(file: IO[bytes]) -> Iterator[str]:
    most = limits.GZIP_RATIO * os.fstat(file.fileno()).st_size + limits.PARSED_FILE_BYTES
    unpacked = cast(IO[bytes], gzip.open(file))
    for line in _lines(unpacked):
        if unpacked.tell() > most:
            raise DocumentError(f"it unpacks to more than {limits.GZIP_RATIO} times its size")
        yield line


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Lines of a file of unknown encoding, none longer than a row may be."""
    encoding = ""
    number = 0
    while line := file.readline(limits.ROW_BYTES + 1):
        number += 1
        if len(line) > limits.ROW_BYTES:
            raise DocumentError(f"line {number} is longer than {limits.ROW_BYTES >> 20} MB: split it")
        encoding = encoding or detect_encoding(line)
        if encoding in ("utf-16", "utf-32"):
            raise DocumentError(f"it is encoded as {encoding}: save it as UTF-8")
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError:
            raise DocumentError(f"line {number} is not {encoding}: save the file as UTF-8") from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"
