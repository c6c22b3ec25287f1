"""Tables whose rows are documents: CSV, TSV and JSON lines, plain or gzipped, read one row at a time.

A row's text is its named text field, or one with a common name; without one, all of its columns with their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats.rows import SAMPLE_CHARACTERS, SAMPLE_LINES, parse_rows
from oreqa.errors import DocumentError
from oreqa.text.rows import row_text

TEXT_FIELDS = ("text", "content", "contents", "page_content", "body", "passage", "context", "paragraph")
TITLE_FIELDS = ("title", "name", "headline")
ID_FIELDS = ("_id", "id", "key", "doc_id", "docid")

_SHORT_TITLE = range(3, 61)
_LONG_VALUE = 100
"""If a value is longer than this, in characters, each column of the row gets its own line."""


def read_rows(
    file: IO[bytes],
    path: Path,
    text: str | None,
    title: str | None,
    key: str | None,
    warn: Callable[[str], None] = lambda line: None,
) -> Iterator[Document]:
    """Yield a document per row; ``text``, ``title`` and ``key`` name its text, title and identifier fields.

    Where they are None, fields with common names are used. Without a text field, a row's text is all of its columns
    ("country: Bhutan; capital: Thimphu"). Without a title, it is the first short value with letters in a column that
    varies in the first rows; without an identifier, the row number, from 1. The other fields are kept as strings, for
    filters. ``warn`` gets a line if rows have more fields than the header. Raises DocumentError naming the row: each
    must have the text field, the first row every named one.
    """
    seen: set[str] = set()
    rows, constant = _with_constant(parse_rows(file, path.name.lower(), warn))
    for number, row in enumerate(rows, 1):
        required = {"--text-field": text}
        if number == 1:
            required |= {"--title-field": title, "--id-field": key}
        for option, name in required.items():
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
    """The names of the fields with a row's text, title and identifier; None if a row has none."""

    text: str | None
    title: str | None
    identifier: str | None


def pick_fields(
    row: Mapping[str, Any], text: str | None = None, title: str | None = None, key: str | None = None
) -> FieldNames:
    """Return a row's fields with these names, or by default those with common names."""
    body = _pick(row, text, TEXT_FIELDS)
    if body is not None and text is None and not any(map(str.isalpha, field_text(row[body]))):
        body = None  # not text, as in a table of body weights: use all columns
    return FieldNames(body, _pick(row, title, TITLE_FIELDS), _pick(row, key, ID_FIELDS))


def row_document(row: Mapping[str, Any], key: str, names: FieldNames, constant: Set[str] = frozenset()) -> Document:
    """Return a row as the document ``key``, which may have no text. All but text, title and identifier become its fields.

    Its title is not taken from ``constant`` columns, whose value is the same in other rows.
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
    """Return a row's non-empty columns with their names, on one line if all values are short."""
    values = [(name.strip(), _value(value)) for name, value in row.items()]
    filled = [(name, value) for name, value in values if value]
    if any(len(value) > _LONG_VALUE for _, value in filled):
        return row_text(filled, "\n")
    return row_text((name, " ".join(value.splitlines())) for name, value in filled)


def _value(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ", ".join(filter(None, map(_value, value)))
    return field_text(value).strip()


def _short_title(row: Mapping[str, Any], skipped: Set[str | None]) -> str:
    """Return the first value outside the ``skipped`` columns that looks like a name: short, and starting with a letter."""
    values = (value.strip() for name, value in row.items() if name not in skipped and isinstance(value, str))
    return next((value for value in values if len(value) in _SHORT_TITLE and _is_name(value)), "")


def _with_constant(rows: Iterator[dict[str, Any]]) -> tuple[Iterator[dict[str, Any]], Set[str]]:
    """Return the rows, and the columns with a single value in the first rows, if those are two or more."""
    sample: list[dict[str, Any]] = []
    size = 0
    try:
        for row in islice(rows, SAMPLE_LINES):
            sample.append(row)
            size += sum(len(field_text(value)) for value in row.values())
            if size > SAMPLE_CHARACTERS:
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
