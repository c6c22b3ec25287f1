"""Descriptions of recipe keys, for the help pages and the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from oreqa.arguments import with_article
from oreqa.training.losses import OneOf
from oreqa.training.recipes import Optimiser, RecipeTable, own_first, table_of
from oreqa.training.train import RECIPES


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a recipe: its name, its possible values, its default and its description."""

    name: str
    value: str
    default: str | None
    """None if the key is required; empty if it has no default."""
    description: str


def recipe_tables(kind: type[RecipeTable]) -> Iterator[tuple[str, list[Key]]]:
    """Yield a recipe's keys, and those of its tables under their TOML names, such as ``[optimiser]`` and ``[[data]]``."""
    keys, tables = [], []
    for name in own_first(kind):
        field = kind.model_fields[name]
        section = table_of(field)
        if section is None:
            keys.append(
                Key(
                    name,
                    _value(field.annotation, field.metadata),
                    _default(field),
                    " ".join((field.description or "").split()),
                )
            )
        else:
            tables.append((f"[[{name}]]" if get_origin(field.annotation) is tuple else f"[{name}]", section))
    yield "", keys
    for name, section in tables:
        yield name, next(recipe_tables(section))[1]


_WORDS = {bool: "true, false", int: "integer", float: "number", str: "text", Path: "path"}


def _value(kind: Any, limits: Sequence[Any]) -> str:
    """Return the values of a key in words, such as ``path`` or ``integer >= 1``."""
    if hasattr(kind, "__metadata__"):  # Annotated
        kind, limits = kind.__origin__, [limit for field in kind.__metadata__ for limit in getattr(field, "metadata", ())]
    if names := next((limit.names for limit in limits if isinstance(limit, OneOf)), None):
        return ", ".join(names)
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if get_origin(kind) is tuple and Ellipsis not in get_args(kind):
        return f"list of {len(get_args(kind))}"
    if get_origin(kind) is tuple:
        return f"list of {_value(get_args(kind)[0], ())}s"
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(_value(part, limits) for part in get_args(kind) if part is not NoneType)
    bounds = {name: getattr(limit, name) for limit in limits for name in ("ge", "gt", "le") if hasattr(limit, name)}
    if "le" in bounds:
        return f"{_WORDS[kind]} {bounds['ge']} to {bounds['le']}"
    signs = {"ge": ">=", "gt": ">"}
    return " ".join([_WORDS[kind], *(f"{signs[name]} {value}" for name, value in bounds.items())])


def _default(field: FieldInfo) -> str | None:
    if field.is_required():
        return None
    if field.default is None:
        return ""
    return str(field.default).lower() if isinstance(field.default, bool) else str(field.default)


def recipe_reference() -> str:
    """Return Markdown tables of all recipe keys, as shown in docs/reference.md."""
    parts = []
    for kind, recipe in RECIPES.items():
        parts.append(f"### {with_article(kind).capitalize()}'s recipe")
        for section, keys in recipe_tables(recipe):
            if section != "[optimiser]":
                parts += [f"`{section}`:", _markdown(keys)] if section else [_markdown(keys)]
    return "\n\n".join([*parts, "### `[optimiser]` of every recipe", _markdown(next(recipe_tables(Optimiser))[1])])


def _markdown(keys: Sequence[Key]) -> str:
    rows = ["| key | can be | default | |", "| --- | --- | --- | --- |"]
    for key in keys:
        default = "needed" if key.default is None else f"`{key.default}`" if key.default else "none"
        rows.append(f"| `{key.name}` | {key.value} | {default} | {key.description} |")
    return "\n".join(rows)
