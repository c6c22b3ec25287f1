"""JSON files: objects in a list are rows that name their fields, and the keys of nested ones are headings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from oreqa.core import Document, Place
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.places import SourcePlaces
from oreqa.corpus.formats.rows import json_rows
from oreqa.corpus.formats.tables import ID_FIELDS, TEXT_FIELDS, TITLE_FIELDS
from oreqa.errors import DocumentError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]|[^\s{}\[\]:,"]+')
_MAX_DEPTH = 100
_LONG = 100
"""A value longer than this, in characters, gets a line of its own."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A string, a number or a word such as ``true``: its text, and its offset in the file."""

    text: str
    at: int


@dataclass(slots=True)
class _Object:
    """An object, or a list, whose items have no keys."""

    is_list: bool
    key: _Scalar | None = None  # of the next item
    items: list[tuple[_Scalar | None, _Scalar | _Object]] = field(default_factory=list)

    @property
    def is_plain_list(self) -> bool:
        """Return whether it is a list of values."""
        return self.is_list and all(isinstance(item, _Scalar) for _, item in self.items)

    @property
    def is_row(self) -> bool:
        """Return whether it is an object that contains only values and lists of values."""
        return not self.is_list and all(isinstance(item, _Scalar) or item.is_plain_list for _, item in self.items)

    def value(self, names: tuple[str, ...]) -> str:
        """Return the first non-empty string or number of a field with one of these names."""
        fields = {key.text.lower(): item.text for key, item in self.items if key and isinstance(item, _Scalar)}
        return next((fields[name] for name in names if fields.get(name)), "")


def read_json_document(data: bytes, path: Path) -> Document:
    """Read a JSON file. Its title is the ``title`` or ``name`` of the outermost object.

    An object of values is one block; objects in a list, or one per line, are rows like those of a table. Raises
    DocumentError for invalid JSON, and for more than 100 levels.
    """
    source = decode(data)
    try:
        json.loads(source, parse_int=str)  # Python parses no number of thousands of digits
        value = _parsed(source)[0]
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        if not _begins_as_json_lines(source):
            raise DocumentError(f"line {error.lineno} is not JSON ({error.msg})") from None
        _check_lines(source)
        value = _Object(is_list=True, items=[(None, row) for row in _parsed(source)])
    return _JsonReader(source, path).document(value)


def _begins_as_json_lines(source: str) -> bool:
    """Return whether the first non-blank line is an object, and others follow."""
    first, _, following = source.lstrip().partition("\n")
    with suppress(ValueError):
        return isinstance(json.loads(first, parse_int=str), dict) and bool(following.strip())
    return False


def _check_lines(source: str) -> None:
    """Raise DocumentError unless each line is an object."""
    for _ in json_rows(iter(source.split("\n"))):
        pass


def _too_deep() -> DocumentError:
    return DocumentError(f"it is nested more than {_MAX_DEPTH} levels deep")


def _parsed(source: str) -> list[_Scalar | _Object]:
    """Return the concatenated values of a valid JSON text, with the places of their parts."""
    root = _Object(is_list=True)
    open_objects = [root]
    for token in _TOKEN.finditer(source):
        text, last = token.group(), open_objects[-1]
        if text in "]}":
            open_objects.pop()
        elif text in "[{":
            new = _Object(is_list=text == "[")
            last.items.append((last.key, new))
            last.key = None
            open_objects.append(new)
            if len(open_objects) > _MAX_DEPTH:
                raise _too_deep()
        else:
            scalar = _scalar(text, token.start())
            if last.is_list or last.key:
                last.items.append((last.key, scalar))
                last.key = None
            else:
                last.key = scalar
    return [value for _, value in root.items]


def _scalar(token: str, at: int) -> _Scalar:
    """Return a token without quotes and escapes. ``null`` has no text."""
    if token[0] == '"':
        return _Scalar(str(json.loads(token)).strip(), at + 1)
    return _Scalar("" if token == "null" else token, at)


class _JsonReader:
    """Reads one file into a builder."""

    def __init__(self, source: str, path: Path) -> None:
        self.places = SourcePlaces(source)
        self.builder = TextBuilder(path)

    def document(self, value: _Scalar | _Object) -> Document:
        self.builder.start_page("", sum(count_words(scalar.text) for scalar in _scalars(value)))
        title = ""
        if isinstance(value, _Object):
            title = "" if value.is_list else value.value(TITLE_FIELDS)
            self._add(value, 1)
        else:
            self.builder.add_block(value.text, [self.places.at(value.at)])
        return self.builder.document(title)

    def _add(self, value: _Object, level: int) -> None:
        """Add the values of an object or list, followed by the objects in it, under headings."""
        self._add_values(value)
        for number, (key, item) in enumerate(value.items, 1):
            if isinstance(item, _Scalar) or item.is_plain_list or not _has_value(item):
                continue
            if item.is_row and value.is_list:
                self._add_values(item)
                continue
            name = key.text if key else item.value(TITLE_FIELDS) or item.value(ID_FIELDS) or str(number)
            self.builder.add_heading(level, name, [self.places.at(key.at)] if key else "", added=key is None)
            self._add(item, level + 1)

    def _add_values(self, value: _Object) -> None:
        """Add the values of an object as a row with their names; long ones get lines of their own."""
        for key, item in value.items:
            if not _has_value(item):
                words = [*([key] if key else []), *_scalars(item)]
                self.builder.leave_out("empty values", " ".join(scalar.text for scalar in words))
        parts = [(key, scalars) for key, item in value.items if (scalars := _shown(item))]
        is_long = not value.is_row or any(sum(len(scalar.text) for scalar in scalars) > _LONG for _, scalars in parts)
        gap = "\n" if is_long or value.is_list else "; "
        text, places = "", list[Place]()
        for key, scalars in parts:
            text += gap if text else ""
            if key and not (len(parts) == 1 and key.text.lower() in TEXT_FIELDS):
                places.append(self.places.at(key.at, len(text)))
                text += f"{key.text}: "
            for number, scalar in enumerate(scalars):
                text += ", " if number else ""
                self.places.go_to(scalar.at)
                places += [replace(place, start=place.start + len(text)) for place in self.places.find(scalar.text)]
                text += scalar.text
        self.builder.add_block(text, places)


def _shown(item: _Scalar | _Object) -> list[_Scalar]:
    """Return the values shown in the block of their object, without empty ones."""
    scalars = [item] if isinstance(item, _Scalar) else list(_scalars(item)) if item.is_plain_list else []
    return [scalar for scalar in scalars if scalar.text]


def _has_value(item: _Scalar | _Object) -> bool:
    """Return whether there is any non-empty value."""
    return bool(item.text) if isinstance(item, _Scalar) else any(_has_value(inner) for _, inner in item.items)


def _scalars(value: _Scalar | _Object) -> Iterator[_Scalar]:
    """Yield all keys and values."""
    if isinstance(value, _Scalar):
        yield value
        return
    for key, item in value.items:
        if key:
            yield key
        yield from _scalars(item)
