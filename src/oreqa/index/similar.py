"""Names of documents and values of fields that resemble one that an index does not have."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

NAMES_LISTED = 5
"""The most names that a message lists."""


def suggestions(select: Callable[[str], Iterable[tuple[Any, ...]]], name: str) -> str:
    """Return a list of similar names, or of the first ones, to end an error message with."""
    if similar := similar_documents(select, name):
        return f"; did you mean: {', '.join(similar)}?"
    first = [key for (key,) in select(f"SELECT key FROM documents ORDER BY length(key), key LIMIT {NAMES_LISTED + 1}")]
    return f"; it has: {', '.join(first[:NAMES_LISTED])}{', ...' if len(first) > NAMES_LISTED else ''}" if first else ""


def similar_values(select: Callable[[str, Sequence[object]], list[tuple[Any, ...]]], name: str, value: str) -> list[str]:
    """Return the values of a field that resemble ``value``, else the first ones. ``select`` is that of a snapshot."""
    query = "SELECT DISTINCT title FROM documents ORDER BY 1 LIMIT 20000"
    field_query = "SELECT DISTINCT value FROM documents, json_each(fields) WHERE json_each.key = ? ORDER BY 1 LIMIT 20000"
    rows = select(query, ()) if name == "title" else select(field_query, (name,))
    values = {str(each).lower(): str(each) for (each,) in rows if each}
    near = difflib.get_close_matches(value.lower(), values, NAMES_LISTED)
    inside = [each for each in values if value.lower() in each]
    return [values[each] for each in dict.fromkeys([*inside, *near]) or values][:NAMES_LISTED]


def similar_documents(select: Callable[[str], Iterable[tuple[Any, ...]]], name: str) -> list[str]:
    """Return the keys of documents whose file name contains ``name`` or resembles it. ``select`` is a snapshot's."""
    keys = {key.rpartition("/")[2].lower(): key for (key,) in select("SELECT key FROM documents LIMIT 20000")}
    wanted = name.rpartition("/")[2].lower()
    stem = wanted.partition(".")[0]
    for similar in (
        [short for short in keys if wanted and wanted in short],
        difflib.get_close_matches(wanted, keys, NAMES_LISTED),
        [short for short in keys if len(stem) > 2 and stem in short],
    ):
        if similar:
            return [keys[short] for short in similar[:NAMES_LISTED]]
    return []
