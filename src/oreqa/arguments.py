"""Check and normalise arguments of public functions: a string counts as a list of one, numbers may be numpy's."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Protocol, TypeGuard, runtime_checkable

from oreqa.errors import InputError
from oreqa.paths import need_working_folder

Where = Mapping[str, Any] | Iterable[tuple[str, Any]]
"""Conditions on documents as passed by callers: fields with the value that a document must have, or with a list of allowed
values."""

Conditions = tuple[tuple[str, tuple[str, ...]], ...]
"""Normalised conditions: fields with values of which a document must have one."""


@runtime_checkable
class _NumpyScalar(Protocol):
    """A number or boolean of numpy, recognised without importing it: this module is loaded by every command."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def item(self) -> object: ...


def text_list(value: str | Iterable[str], name: str) -> list[str]:
    """Return the strings of a list; a single string counts as a list of one.

    Raises InputError for anything else, and for strings that cannot be encoded as UTF-8.
    """
    if not isinstance(value, str) and not is_list(value):
        raise InputError(f"{name} are a string or a list of strings, not {kind_of(value)}")
    texts = [value] if isinstance(value, str) else list(value)
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise InputError(f"{name} are a string or a list of strings: number {number} is {kind_of(text)}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{name}: number {number} holds half of a surrogate pair, which is not a character") from None
    return texts


QUESTION_CHARACTERS = 10_000
"""Longest question or search text: memory and time grow with it, although models read only its beginning."""


def question_list(value: str | Iterable[str]) -> list[str]:
    """Return ``text_list``, also raising InputError for an empty or too long question."""
    texts = text_list(value, "questions")
    for number, text in enumerate(texts, 1):
        name = "the question" if isinstance(value, str) else f"question {number}"
        if not text.strip():
            raise InputError(f"{name} is empty")
        if len(text) > QUESTION_CHARACTERS:
            raise InputError(f"{name} has {len(text):,} characters, more than {QUESTION_CHARACTERS:,}: shorten it")
    return texts


def title_and_text(passage: object) -> tuple[str, str]:
    """Return the title and text of a passage, given as its text or ``(title, text)``.

    Raises InputError for anything else.
    """
    title, text = passage if isinstance(passage, tuple) and len(passage) == 2 else ("", passage)
    if not isinstance(title, str) or not isinstance(text, str):
        raise InputError(f"a passage is its text or its (title, text), not {kind_of(passage)}")
    text_list([title, text], "title and text of a passage")
    return title, text


def passage_list(passages: object) -> list[tuple[str, str]]:
    """Return titles and texts of passages; a single text counts as a list of one. Raises InputError for anything else."""
    if isinstance(passages, str):
        return [("", passages)]
    if not is_list(passages):
        raise InputError(f"passages are a list of texts or of (title, text), not {kind_of(passages)}")
    return [title_and_text(passage) for passage in passages]


def is_list(value: object) -> TypeGuard[Iterable[Any]]:
    """Return whether a value is a list in the wide sense: a tuple, an array or a generator, but not a string or mapping."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) and not _is_numpy_scalar(value)


def _is_numpy_scalar(value: object) -> TypeGuard[_NumpyScalar]:
    return isinstance(value, _NumpyScalar) and value.shape == ()


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number or boolean, of Python or numpy, that fits into a float."""
    try:
        return isinstance(value, Real) and math.isfinite(value)
    except OverflowError:
        return False


def kind_of(value: object) -> str:
    """Return the type of a value in words: "an int", "None"."""
    return "None" if value is None else with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """Return a noun after "a" or "an"."""
    return f"{'an' if noun.lower().startswith(tuple('aeiou')) else 'a'} {noun}"


def count(value: object, name: str, smallest: int = 1) -> int:
    """Return an integer of at least ``smallest``, from Python or numpy. Raises InputError for anything else."""
    try:
        number = smallest - 1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = smallest - 1
    if number < smallest:
        raise InputError(f"{name} is {_shown(value)}; it must be a whole number from {smallest}")
    return number


def share(value: object, name: str) -> float:
    """Return a number from 0 to 1. Raises InputError for anything else."""
    if isinstance(value, bool) or not is_number(value) or not 0 <= value <= 1:
        raise InputError(f"{name} is {_shown(value)}; it must lie between 0 and 1")
    return float(value)


def choice(value: object, choices: Collection[str], name: str) -> None:
    """Raise InputError if a value is none of the ``choices``."""
    if not isinstance(value, str) or value not in tuple(choices):
        raise InputError(f"there is no {name} {_shown(value)}: choose {', '.join(choices)}")


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python formats no integers of more than 4,300 digits
        return f"{kind_of(value)} of too many digits"


def as_path(value: str | Path, name: str) -> Path:
    """Return a path.

    Raises InputError for an empty string, for one that no file can have, for a value that is not a path, and for a relative
    path in a deleted working directory.
    """
    if not isinstance(value, str | os.PathLike) or isinstance(os.fspath(value), bytes):
        raise InputError(f"{name} is a path, as a string or a Path, not {kind_of(value)}")
    if not os.fspath(value):
        raise InputError(f"{name} is empty; write a path")
    if "\0" in os.fspath(value):
        raise InputError(f"{name} {str(value)!r} holds a zero character, as no path does; write another")
    need_working_folder(value)
    return Path(value)


def as_index_folder(value: str | Path) -> Path:
    """Return the folder of an index. Raises InputError like ``as_path``, and for a name that is not UTF-8."""
    path = as_path(value, "an index's folder")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"{str(path)!r}: the name of an index's folder must be UTF-8; rename it") from None
    return path


def as_paths(value: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return one path as a list, or the paths of a list. Raises InputError for anything else, and for an empty list."""
    values: list[Any] = list(value) if is_list(value) else [value]
    if not values:
        raise InputError("paths are an empty list; name a file or a folder")
    return [as_path(each, "a file or a folder") for each in values]


def conditions(where: Where) -> Conditions:
    """Return normalised conditions. Numbers and booleans become their JSON text, as stored in indexes.

    Raises InputError for anything else.
    """
    pairs = where.items() if isinstance(where, Mapping) else where
    if not is_list(pairs):
        raise InputError(f"where is a mapping of fields to values, such as {{'category': 'tents'}}, not {kind_of(where)}")
    normalised = []
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2 or not isinstance(pair[0], str):
            raise InputError(f"where is a mapping of fields to values, such as {{'category': 'tents'}}; it holds {pair!r}")
        field, value = pair
        values = list(value) if is_list(value) else [value]
        if not values:
            raise InputError(f"where: the field {field!r} has an empty list of values; leave the field out")
        normalised.append((field, tuple(_value(field, each) for each in values)))
    return tuple(normalised)


def _value(field: str, value: object) -> str:
    plain = value.item() if _is_numpy_scalar(value) else value
    if isinstance(plain, str):
        return plain
    try:
        if isinstance(plain, bool | int | float):
            return json.dumps(plain)
    except ValueError:
        raise InputError(f"where: the value of {field!r} is {_shown(plain)}") from None
    raise InputError(f"where: the value of {field!r} is {kind_of(value)}; write a string, a number or a list of them")
