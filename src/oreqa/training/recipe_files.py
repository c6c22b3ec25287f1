"""Recipes on disk: TOML, read and checked before anything starts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from oreqa.arguments import as_path, text_list
from oreqa.errors import InputError
from oreqa.training.recipe_keys import section_at
from oreqa.training.sections import Section

R = TypeVar("R", bound=Section)


def load_recipe(kind: type[R], path: str | Path, settings: str | Iterable[str] = ()) -> R:
    """Read a recipe. ``settings`` are ``name=value`` or ``table.name=value``, the value in TOML or a plain word; without a
    value, as in ``alignment=``, they leave a key or a table of the recipe out.

    Raises InputError that names the file and the key.
    """
    path, changes = as_path(path, "a recipe"), text_list(settings, "settings")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such recipe") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: it cannot be read as TOML ({error})") from error
    for setting in changes:
        _set(content, setting)
    named, wanted = content.get("kind"), get_args(kind.model_fields["kind"].annotation)
    if named is not None and named not in wanted:
        raise InputError(f"{path}: it is a recipe of kind {named!r}, not {wanted[0]!r}")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        unknown = next((row["loc"] for row in error.errors() if row["type"] == "extra_forbidden"), None)
        if unknown is not None:
            place = _setting(unknown, changes) or str(path)
            raise InputError(f"{place}: {_unknown_key(kind, unknown)}") from None
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the recipe"
        place = _setting(first["loc"], changes) or f"{path}: {key}"
        raise InputError(f"{place}: {_plain(first['msg'])}{_hint(kind, first['loc'], first['type'])}") from None


_SHOWN = 60
"""Characters of a setting that an error shows."""


def _setting(key: Iterable[int | str], changes: Sequence[str]) -> str | None:
    """The last of ``changes`` that set a key, a table that holds it, or something in it."""
    parts = [str(part) for part in key]
    for setting in reversed(changes):
        name = setting.partition("=")[0].split(".")
        if parts and all(a == b for a, b in zip(parts, name, strict=False)):
            return f"the setting {setting if len(setting) <= _SHOWN else setting[:_SHOWN] + '…'}"
    return None


def _plain(message: str) -> str:
    """What pydantic says of a value, in our words."""
    for theirs, ours in (
        ("Value error, ", ""),
        ("Input should be", "it must be"),
        ("Field required", "it is missing"),
        ("a valid tuple", "a list"),
        (", unable to parse string as a number", ""),
        (", unable to parse string as an integer", ""),
    ):
        message = message.replace(theirs, ours)
    message = re.sub(r"Tuple should have at least (\d+) items?.*", r"it must be a list of at least \1", message)
    return re.sub(r"a valid dictionary or instance of \w+", "a table", message)


def _hint(kind: type[Section], place: Sequence[int | str], error: str) -> str:
    """How to write a list of texts, or leave out a table, where something else stands."""
    if len(place) != 1:
        return ""
    name = str(place[0])
    if error == "tuple_type":
        is_of_tables = section_at(kind, place) is not kind
        return f'; write {name}=[{{file="..."}}]' if is_of_tables else f'; write {name}=["..."]'
    if error == "model_type" and not kind.model_fields[name].is_required():
        return f"; to leave it out, write {name}="
    return ""


def _unknown_key(kind: type[Section], place: Sequence[int | str]) -> str:
    """Suggest known keys for an unknown one: that of the same name elsewhere, or else one like it."""
    last = str(place[-1])
    keys = list(section_at(kind, place[:-1]).model_fields)
    elsewhere = [last] if last in kind.model_fields else []
    elsewhere += [f"{table}.{last}" for table in kind.model_fields if last in section_at(kind, (table,)).model_fields]
    nearest = elsewhere or get_close_matches(last, keys, 1, cutoff=0.75)
    guess = f"did you mean {nearest[0]}?" if nearest else f"the keys here are {', '.join(keys)}"
    return f"there is no key {'.'.join(map(str, place))}; {guess}"


def _set(content: dict[str, Any], setting: str) -> None:
    name, sign, text = setting.partition("=")
    if not sign or not name:
        raise InputError(f"the setting {setting!r}: write it as name=value, as in optimiser.batch=16")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    *tables, last = name.split(".")
    for table in tables:
        content = content.setdefault(table, {})
        if not isinstance(content, dict):
            raise InputError(f"the setting {setting!r}: {table} is not a table of the recipe")
    if text:
        content[last] = value
    else:
        content.pop(last, None)
