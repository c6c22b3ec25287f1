"""Plain text and Markdown. The document's text is the file's own, decoded, with every line end as one ``\\n``.

Offsets are characters of that text: ``\\r\\n`` counts as one, a byte order mark as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from oreqa.core import Document, PageWords, Place, Section
from oreqa.corpus import limits
from oreqa.corpus.builder import TextBuilder, count_words, file_title, is_heading, join_headings
from oreqa.corpus.decode import decode
from oreqa.errors import DocumentError

# None of these can take more than linear time: blanks at the ends are stripped afterwards.
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t](.*)$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def read_text(data: bytes, path: Path) -> Document:
    """A plain text file; its title is its file name."""
    text = decode(data)
    words = count_words(text)
    return Document(str(path), file_title(path), text, places=(Place(0, "", 1, 0),), pages=(PageWords("", words, words),))


def read_markdown(data: bytes, path: Path) -> Document:
    """A Markdown file as it is written, with its headings as sections; front matter belongs to no passage."""
    text = decode(data)
    title, sections = markdown_sections(text)
    return Document(str(path), title or file_title(path), text, tuple(sections))


def join_parts(path: Path, title: str, parts: Sequence[tuple[str, str]]) -> Document:
    """A document of extracted ``(heading, text)`` parts, each a section; its title is the file's name if there is none."""
    builder = TextBuilder(path)
    for heading, body in parts:
        if body.strip():
            if heading:
                builder.add_heading(1, heading)
            builder.add_block(body)
    return builder.document(title)


def markdown_sections(text: str) -> tuple[str, list[Section]]:
    """The title and the sections of a Markdown text.

    The title is the front matter's, else the first heading of level one. A section's heading is its path of headings
    below the title, joined by " > ".
    """
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    named = _FRONT_TITLE.search(front.group()) if front else None
    title = named.group(1).strip(" \t").strip("\"'") if named else ""
    sections: list[Section] = []
    path: list[tuple[int, str]] = []
    for level, heading, start, end in _headings(text, begin):
        _add_section(sections, text, begin, start, path)
        begin = end
        if level == 1 and not title:
            title = heading
        while path and path[-1][0] >= level:
            path.pop()
        if not (level == 1 and heading == title):
            path.append((level, heading))
    _add_section(sections, text, begin, len(text), path)
    return title, sections


def _add_section(sections: list[Section], text: str, start: int, end: int, path: Sequence[tuple[int, str]]) -> None:
    if len(sections) == limits.SECTIONS:
        raise DocumentError(f"it has more than {limits.SECTIONS:,} sections: split it")
    if text[start:end].strip():
        sections.append(Section(start, end, join_headings(path)))


def _headings(text: str, begin: int) -> Iterator[tuple[int, str, int, int]]:
    """Headings as ``(level, text, start, end)``, both kinds of Markdown's, outside fenced code."""
    fence = ""
    above: tuple[int, str] | None = None  # the line before, if it may be an underlined heading
    start = begin
    for line in _LINE.finditer(text, begin):
        end = line.end()
        body = line.group().rstrip("\n")
        mark = _FENCE.match(body)
        if fence:
            if mark and mark.group(1).startswith(fence) and not body.strip(" `~"):
                fence = ""
            above = None
        elif mark:
            fence, above = mark.group(1), None
        elif (match := _HEADING.match(body)) and is_heading(heading := _heading_text(match.group(2))):
            yield len(match.group(1)), heading, start, end
            above = None
        elif above and (match := _UNDERLINE.match(body)):
            yield (1 if match.group(1)[0] == "=" else 2), above[1], above[0], end
            above = None
        else:
            plain = body.strip()
            # Only a paragraph of one line is taken for an underlined heading.
            blank_before = above is None
            above = (start, plain) if is_heading(plain) and blank_before and plain[0] not in "|>-*+" else None
        start = end


def _heading_text(line: str) -> str:
    """A heading without the blanks and the closing marks around it: ``One ##`` is ``One``, ``C#`` stays."""
    line = line.strip(" \t")
    opened = line.rstrip("#")
    return opened.rstrip(" \t") if not opened or opened[-1] in " \t" else line
