"""Plain text and Markdown. The document's text is the file's own, so that offsets point into the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from oreqa.core import Document, Section
from oreqa.corpus.decode import decode

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")


def read_text(data: bytes, path: Path) -> Document:
    """A plain text file; its title is its file name."""
    return Document(str(path), file_title(path), decode(data))


def read_markdown(data: bytes, path: Path) -> Document:
    """A Markdown file as it is written, with its headings as sections; front matter belongs to no passage."""
    text = decode(data)
    title, sections = markdown_sections(text)
    return Document(str(path), title or file_title(path), text, tuple(sections))


def file_title(path: Path) -> str:
    """A file's name as words: ``annual_report-2024.txt`` is ``annual report 2024``."""
    return re.sub(r"[_\-\s]+", " ", path.stem).strip() or path.name


def join_parts(path: Path, title: str, parts: Sequence[tuple[str, str]]) -> Document:
    """A document of extracted ``(heading, text)`` parts, each a section; its title is the file's name if there is none."""
    text = ""
    sections = []
    for heading, body in parts:
        if body.strip():
            text += "\n\n" if text else ""
            sections.append(Section(len(text), len(text) + len(body), heading))
            text += body
    return Document(str(path), title or file_title(path), text, tuple(sections))


def markdown_sections(text: str) -> tuple[str, list[Section]]:
    """The title and the sections of a Markdown text.

    The title is the front matter's, else the first heading of level one. A section's heading is its path of headings
    below the title, joined by " > ".
    """
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    named = _FRONT_TITLE.search(front.group()) if front else None
    title = named.group(1).strip("\"'") if named else ""
    sections: list[Section] = []
    path: list[tuple[int, str]] = []
    for level, heading, start, end in _headings(text, begin):
        sections.append(Section(begin, start, " > ".join(name for _, name in path)))
        begin = end
        if level == 1 and not title:
            title = heading
        while path and path[-1][0] >= level:
            path.pop()
        if not (level == 1 and heading == title):
            path.append((level, heading))
    sections.append(Section(begin, len(text), " > ".join(name for _, name in path)))
    return title, [section for section in sections if text[section.start : section.end].strip()]


def _headings(text: str, begin: int) -> Iterator[tuple[int, str, int, int]]:
    """Headings as ``(level, text, start, end)``, both kinds of Markdown's, outside fenced code."""
    fence = ""
    above: tuple[int, str] | None = None  # the line before, if it may be an underlined heading
    start = begin
    for line in text[begin:].splitlines(keepends=True):
        end = start + len(line)
        body = line.rstrip("\n")
        mark = _FENCE.match(body)
        if fence:
            if mark and mark.group(1).startswith(fence) and not body.strip(" `~"):
                fence = ""
            above = None
        elif mark:
            fence, above = mark.group(1), None
        elif match := _HEADING.match(body):
            yield len(match.group(1)), match.group(2), start, end
            above = None
        elif above and (match := _UNDERLINE.match(body)):
            yield (1 if match.group(1)[0] == "=" else 2), above[1], above[0], end
            above = None
        else:
            plain = body.strip()
            # Only a paragraph of one line is taken for an underlined heading.
            blank_before = above is None
            above = (start, plain) if plain and blank_before and plain[0] not in "|>-*+" else None
        start = end
