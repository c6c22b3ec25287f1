"""The fields at the beginning of a text, in YAML between lines of three dashes, as site generators read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Linear time, because white space is stripped afterwards. Unless a YAML key or comment follows, the first line is a rule.
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w#\"'][^\n:]*:|#)(?:.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_MOST = 16 << 10
"""The longest front matter that is parsed, in characters: the parser is slow on endless nesting."""

_ALIAS = re.compile(r"(?<![\w\"'])[&*]\w")
"""A YAML anchor or alias, which can expand a short text endlessly."""


def front_matter(text: str) -> str:
    """Return the lines with the fields, "" if there are none."""
    match = _FRONT_MATTER.match(text)
    return match.group() if match else ""


def front_fields(lines: str) -> dict[str, str]:
    """Return the fields that are values or lists of values, as written. In damaged YAML, only the title is read."""
    import yaml

    try:
        is_safe = len(lines) <= _MOST and not _ALIAS.search(lines)
        values = yaml.load(lines.strip().strip("-."), yaml.BaseLoader) if is_safe else None
    except (yaml.YAMLError, RecursionError):
        values = None
    if not isinstance(values, Mapping):
        title = _TITLE.search(lines)
        return {"title": title.group(1).strip(" \t").strip("\"'")} if title else {}
    fields = {str(name): _value(value) for name, value in values.items()}
    return {name: value for name, value in fields.items() if value}


def _value(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ", ".join(filter(None, map(_value, value)))
    return "" if isinstance(value, list | dict) else " ".join(str(value).split())
