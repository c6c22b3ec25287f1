"""Tables whose rows are documents: CSV, TSV and JSON lines, plain or gzipped, read a row at a time."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from oreqa.core import Document
from oreqa.corpus.decode import detect_encoding
from oreqa.errors import DocumentError

MAX_ROW = 16 << 20
"""Characters of the longest row that is read; a longer one is an error, found before it fills the memory."""

TEXT_FIELDS = ("text", "content", "contents", "body", "passage", "context", "paragraph")
TITLE_FIELDS = ("title", "name", "headline")
ID_FIELDS = ("_id", "id", "key", "doc_id", "docid")


def read_rows(path: Path, text: str | None, title: str | None, key: str | None) -> Iterator[Document]:
    """A document for each row: ``text`` and ``title`` name its fields, ``key`` the one that identifies it.

    Without names the usual ones are looked for. A row without an identifier is known by its number, from 1. All other
    fields are kept, as strings, to filter by. Raises DocumentError that names the row.
    """
    seen: set[str] = set()
    for number, row in enumerate(_rows(path), 1):
        body = _pick(row, text, TEXT_FIELDS)
        if body is None:
            raise DocumentError(
                f"row {number} has no {f'field {text!r}' if text else 'text field'}; "
                f"its fields are {', '.join(map(repr, row)) or 'none'}: name one with --text-field"
            )
        identifier = _pick(row, key, ID_FIELDS)
        name = str(number) if identifier is None else str(row[identifier])
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


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    name = path.name.lower()
    try:
        opened: IO[bytes] = cast(IO[bytes], gzip.open(path)) if name.endswith(".gz") else path.open("rb")
        with opened as file:
            lines = _lines(file)
            if name.removesuffix(".gz").endswith((".jsonl", ".ndjson")):
                yield from _json_rows(lines)
            else:
                yield from _separated_rows(lines, "\t" if name.endswith(".tsv") else ",")
    except (EOFError, gzip.BadGzipFile) as error:
        raise DocumentError(f"it is a damaged gzip file ({error})") from error


def _json_rows(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DocumentError(f"line {number} is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise DocumentError(f"line {number} is a JSON {type(row).__name__}, not an object with fields")
        yield row


def _separated_rows(lines: Iterator[str], delimiter: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(MAX_ROW)
    reader = csv.DictReader(lines, delimiter=delimiter, restkey="extra")
    try:
        yield from reader
    except csv.Error as error:
        raise DocumentError(f"line {reader.line_num} is not a row of this table ({error})") from error


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Lines of a file of unknown encoding, none longer than MAX_ROW."""
    encoding = ""
    number = 0
    while line := file.readline(MAX_ROW + 1):
        number += 1
        if len(line) > MAX_ROW:
            raise DocumentError(f"line {number} is longer than {MAX_ROW >> 20} MB: split it")
        encoding = encoding or detect_encoding(line)
        if encoding in ("utf-16", "utf-32"):
            raise DocumentError(f"it is encoded as {encoding}: save it as UTF-8")
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError:
            raise DocumentError(f"line {number} is not {encoding}: save the file as UTF-8") from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"
