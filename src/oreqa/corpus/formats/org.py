"""Org files: headlines, lists, tables and blocks of Emacs' Org mode."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.markup import LONGEST_LINE_WITH_MARKS, LineMarkup
from oreqa.corpus.formats.rendered import read_rendered

_HEADLINE = re.compile(r"(\*+)\s+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)\s+)?(?:\[#[A-Z]\]\s+)?(.*)")
_TAGS = re.compile(r":[\w@#%:]+:")
_KEYWORD = re.compile(r"\s*#\+(\w+)(?:\[[^\]]*\])?:\s*(.*)")
_BLOCK = re.compile(r"\s*#\+begin_(\w+)", re.IGNORECASE)
_DRAWER, _END = re.compile(r"\s*:[\w-]+:\s*$"), re.compile(r"\s*:end:\s*$", re.IGNORECASE)
_ITEM = re.compile(r"(\s*)(?:([-+]|(?<=\s)\*)|(\d+[.)]))\s+(?:\[@\d+\]\s*)?(?:\[[ X-]\]\s+)?(?:(.*?\S)\s+::(?:\s+|$))?(.*)")
_ROW, _RULE = re.compile(r"\s*\|(.*?)\|?\s*$"), re.compile(r"\s*\|-[-+|]*\s*$")
_CODE = frozenset(("src", "example", "export"))
_COMMENT = "comment"
_FIELDS = ("author", "date", "email", "language", "description", "keywords", "subtitle", "filetags")

_LINK = re.compile(r"\[\[([^\[\]]+)\](?:\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\])?\]")
_DROPPED = re.compile(r"\[fn:[^\[\]:]*\]|&lt;&lt;&lt;?[^&]*&gt;&gt;&gt;?|@@\w+:.*?@@|\{\{\{.*?\}\}\}|\\\\\s*$")
_VERBATIM = re.compile(r"(?<![\w=~])([=~])(\S(?:.*?\S)?)\1(?![\w=~])")
_STRUCK = re.compile(r"(?<![\w+])\+(\S(?:[^+]*\S)?)\+(?![\w+])")
_EMPHASIS = re.compile(r"(?<![\w*/_])([*/_])(\S(?:.*?\S)?)\1(?![\w*/_])")


def read_org(data: bytes, path: Path) -> Document:
    """Read an Org file. Its keywords, such as ``#+AUTHOR:``, are fields; drawers, comments and includes are not read."""
    source = decode(data)
    markup = LineMarkup()
    fields: dict[str, str] = {}
    block, lines, in_drawer, hidden = "", list[str](), False, 0
    all_lines = source.split("\n")
    drawers, last_comment = _drawers(all_lines), _last_comment(all_lines)
    for number, line in enumerate(all_lines):
        if block:
            if line.strip().lower() == f"#+end_{block}":
                if block != _COMMENT:
                    markup.code(lines)
                block = ""
            else:
                lines.append(line.removeprefix(","))
        elif in_drawer:
            in_drawer = not _END.match(line)
        elif match := _HEADLINE.match(line):
            level, title = len(match[1]), _without_tags(match[2])
            hidden = level if title.startswith("COMMENT") and (not hidden or level <= hidden) else hidden * (level > hidden)
            if not hidden:
                markup.heading(level, _inline(title))
        elif hidden:
            continue
        elif match := _BLOCK.match(line):
            markup.end_paragraph()
            name = match[1].lower()
            block, lines = (name if name in _CODE or (name == _COMMENT and number < last_comment) else ""), []
        elif match := _KEYWORD.match(line):
            name = match[1].lower()
            if name == "title" or name in _FIELDS:
                fields[name] = f"{fields.get(name, '')} {match[2]}".strip()
            elif name == "caption":
                markup.caption(_inline(match[2]))
        elif number in drawers:
            in_drawer = True
        else:
            _add(markup, line)
    if block:
        markup.code(lines)
    document = read_rendered(markup.page(), source, path, fields.pop("title", ""))
    return replace(document, fields={name: value for name, value in fields.items() if value})


def _drawers(lines: Sequence[str]) -> set[int]:
    """Return the numbers of lines that open a drawer: those with an end before the next headline."""
    drawers: set[int] = set()
    has_end = False
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        if _END.match(line):
            has_end = True
        elif _HEADLINE.match(line):
            has_end = False
        elif has_end and _DRAWER.match(line):
            drawers.add(number)
    return drawers


def _last_comment(lines: Sequence[str]) -> int:
    """Return the line number at which the last comment block ends, -1 without one."""
    return next((n for n in range(len(lines) - 1, -1, -1) if lines[n].strip().lower() == f"#+end_{_COMMENT}"), -1)


def _without_tags(headline: str) -> str:
    words = headline.rsplit(maxsplit=1)
    return words[0] if len(words) == 2 and _TAGS.fullmatch(words[1]) else headline.rstrip()


def _add(markup: LineMarkup, line: str) -> None:
    """Add a line outside of blocks."""
    stripped = line.strip()
    if not stripped or re.match(r"\s*#(?:\s|\+|$)|\s*-{5,}$", line):
        markup.end_paragraph()
    elif line.lstrip().startswith(": "):
        markup.code([line.lstrip()[2:]])
    elif _RULE.match(line):
        markup.header()
    elif match := _ROW.match(line):
        markup.row([_inline(cell.strip()) for cell in match[1].split("|")])
    elif match := _ITEM.fullmatch(line):
        tag = "dl" if match[4] else "ol" if match[3] else "ul"
        # Items with the same indentation belong to one list, whatever their marks.
        markup.item(f"{len(match[1])}", _inline(match[5]), tag=tag, term=_inline(match[4] or ""))
    else:
        if not line[0].isspace() and markup.in_list and not markup.is_open:
            markup.end_lists()
        markup.text(_inline(stripped))


def _inline(text: str) -> str:
    """Return the markup of a line: links by their texts, struck-out text marked, other marks dropped."""
    if len(text) > LONGEST_LINE_WITH_MARKS:
        return escape(text, quote=False)
    text = _LINK.sub(lambda match: match[2] if match[2] is not None else match[1], text)
    text = _DROPPED.sub("", escape(text, quote=False))
    text = _VERBATIM.sub(r"\2", text)
    text = _STRUCK.sub(r"<s>\1</s>", text)
    for _ in range(2):  # bold within italics
        text = _EMPHASIS.sub(r"\2", text)
    return text
