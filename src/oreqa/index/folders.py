"""Conditions on document paths (files, folders and wildcards), and the folders of an index's documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from oreqa.index.store import chunks

_ESCAPED = re.compile(r"\\([*?\\])")
_GROUP = 100
"""Patterns per group: SQLite limits expressions to a depth of 1,000, and each OR is a level."""


def path_filter(values: Sequence[str]) -> tuple[str, list[str]]:
    """Return the SQL condition, with its parameters, for documents at one of these paths or in one of these folders.

    A path is complete, or the end of one: ``guide.md`` and ``manuals/bikes`` match in every folder. * and ? are wildcards
    unless escaped with a backslash; a path with a wildcard must match completely.
    """
    patterns, parameters = zip(*map(_path_condition, values), strict=True)
    groups = [f"({' OR '.join(group)})" for group in chunks(patterns, _GROUP)]
    return f"({' OR '.join(groups)})", list(parameters)


def _path_condition(value: str) -> tuple[str, str]:
    if re.search(r"[*?]", _ESCAPED.sub("", value)):
        return "source GLOB ?", _glob(value)
    path = _ESCAPED.sub(r"\1", value)
    names = path.removeprefix("./").rstrip("/")
    if path.startswith("/"):
        return "instr(source || '/', ?) = 1", f"{names}/"
    return "instr('/' || source || '/', ?) > 0", f"/{names}/"


def _glob(pattern: str) -> str:
    """Translate * and ? to SQLite's pattern language, in which a bracket begins a character class."""
    return re.sub(r"\\([*?\\])|(\[)", lambda match: f"[{match[1] or match[2]}]", pattern)


def indexed_folders(select: Callable[[str], Iterable[tuple[Any, ...]]]) -> list[str]:
    """Return the folders that contain a document's file, in order. ``select`` is that of a snapshot.

    Examples:
        >>> indexed_folders(lambda query: [("/docs/a/x.md",), ("/docs/a/y.md",), ("/docs/z.md",), ("text-1",)])
        ['/docs', '/docs/a']
    """
    sources = (str(source) for (source,) in select("SELECT DISTINCT source FROM documents"))
    return sorted({source.rpartition("/")[0] or "/" for source in sources if "/" in source})


def listed_folders(folders: Sequence[str]) -> str:
    """Format folders for people: the first ones, and dots for the rest.

    Examples:
        >>> listed_folders(["/docs", "/docs/a"])
        '/docs, /docs/a'
    """
    return ", ".join([*folders[:_MOST_FOLDERS], *(["..."] if len(folders) > _MOST_FOLDERS else [])])


_MOST_FOLDERS = 20
