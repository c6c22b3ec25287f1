"""Markdown (CommonMark with tables): the text without its markup, with the places of all its parts in the file."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from oreqa.core import Document, Place
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.front_matter import front_fields, front_matter
from oreqa.corpus.formats.markdown_tokens import LEFT_OUT, contents_lists, flat_tokens, markdown_tokens, shown_text
from oreqa.corpus.formats.table_rows import are_names
from oreqa.text.rows import CELL_GAP, record_text

if TYPE_CHECKING:
    from markdown_it.token import Token

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<[^<>]*>", re.DOTALL)
_INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|kbd|mark|s|small|span|strong|sub|sup|u)\b", re.IGNORECASE)
_NEAR = 4000
"""Most characters of markup, such as a link's target, between two pieces of text."""


def read_markdown(data: bytes, path: Path) -> Document:
    """Read a Markdown file without link targets, markup and struck-out text.

    The fields of its front matter are the document's, and a row of its text. The title comes from the front matter, else
    from the first level 1 heading.
    """
    return _MarkdownReader(decode(data), path).document()


class _MarkdownReader:
    """Reads one file into a builder, token by token."""

    def __init__(self, text: str, path: Path) -> None:
        self.source = text
        self.builder = TextBuilder(path)
        self.builder.start_page("", count_words(text))
        self.title = ""
        self.fields: dict[str, str] = {}
        # Not splitlines, which also breaks lines at form feeds and the like.
        self.lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self.cursor = 0  # offset in the file up to which it has been read
        self.lists = 0  # open lists
        self.joins = False  # whether the next text of a list joins the previous block
        self.mark: tuple[str, str] | None = None  # the next list item's mark, as shown and as written in the file
        self.ends_in_colon = False
        self.header: list[str] = []  # the column names of the open table
        self.after_record = False  # whether the last row has column names
        self.header_row: tuple[str, list[Place], bool] | None = None  # the header, until a row uses its names

    def document(self) -> Document:
        body = self._front_matter()
        tokens = markdown_tokens(body)
        contents, end = contents_lists(tokens), -1
        for number, token in enumerate(tokens):
            if number in contents:
                end = contents[number]
                self.builder.leave_out("contents", self.source[slice(*self._range(token))])
                self.cursor = self._range(token)[1]
            if number > end:
                self._read(token, tokens, number)
        return replace(self.builder.document(self.title), fields=self.fields)

    def _front_matter(self) -> str:
        """Return the text with blank lines in place of its front matter, which keeps line numbers."""
        lines = front_matter(self.source)
        if not lines:
            return self.source
        self.fields = front_fields(lines)
        self.title = self.fields.pop("title", "")
        run = _Run(self, 0, len(lines))
        for name, value in self.fields.items():
            run.text += "; " if run.text else ""
            run.add(name)
            run.text += ": "
            run.add(value)
        self.builder.leave_out("front matter", lines)
        self.builder.add_block(run.text, run.places, words=0)
        self.cursor = len(lines)
        return "\n" * lines.count("\n") + self.source[len(lines) :]

    def _read(self, token: Token, tokens: Sequence[Token], number: int) -> None:
        kind = token.type
        if kind in ("bullet_list_open", "ordered_list_open"):
            if not self.lists:
                self.joins = self.ends_in_colon  # a list stays with the sentence that introduces it
            self.lists += 1
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self.lists -= 1
        elif kind == "list_item_open":
            count = f"{token.info}{token.markup}"
            self.mark = (f"{count} ", count) if token.info else ("- ", token.markup)
        elif kind == "inline":
            before = tokens[number - 1].type
            if before == "heading_open":
                self._heading(token, int(tokens[number - 1].tag[1]))
            elif before not in ("th_open", "td_open"):
                self._paragraph(token)
        elif kind == "tr_open":
            self._row(token, tokens, number)
        elif kind == "table_close":
            self._add_header()
        elif kind in ("fence", "code_block"):
            self._code(token)
        elif kind == "html_block":
            self._html(token)

    def _heading(self, token: Token, level: int) -> None:
        text, places = self._inline([token])
        if level == 1 and not self.title:
            self.title = text
        if level == 1 and text == self.title:
            self.builder.add_title(text)
            return
        self.builder.add_heading(level, text, places)
        self.ends_in_colon = False

    def _paragraph(self, token: Token) -> None:
        text, places = self._inline([token], mark=self.mark)
        self._add(text, places, joined=self.lists > 0 and self.joins)

    def _row(self, token: Token, tokens: Sequence[Token], number: int) -> None:
        """Add a table row; one below the header gets its column names, if they are distinct."""
        end = next(i for i in range(number, len(tokens)) if tokens[i].type == "tr_close")
        cells = [cell for cell in tokens[number:end] if cell.type == "inline"]
        values = ["".join(map(shown_text, flat_tokens(cell.children or ()))) for cell in cells]
        if tokens[number - 1].type == "thead_open":
            self.header = values if are_names(values) else []
            self.after_record = False
            self.header_row = (*self._inline(cells, CELL_GAP), self.ends_in_colon)
        elif record_text(self.header, values):
            names = [name if value else "" for name, value in zip(self.header, values, strict=True)]
            text, places = self._inline(cells, "; ", names=names)
            words = sum(map(count_words, values)) + (count_words(self.header_row[0]) if self.header_row else 0)
            self.header_row = None
            # The first column's name is placed where its value is.
            self._add(text, [replace(place, start=0) for place in places[:1]] + places, joined=False, words=words)
            self.after_record = True
        else:
            self._add_header()
            filled = [cell for cell, value in zip(cells, values, strict=True) if value.strip()]
            self._add(*self._inline(filled, CELL_GAP), joined=not self.after_record)
            self.after_record = False

    def _add_header(self) -> None:
        """Add a table's header as a row, unless the rows below have its names."""
        if self.header_row:
            text, places, joined = self.header_row
            self.header_row = None
            self._add(text, places, joined=joined)

    def _code(self, token: Token) -> None:
        begin, end = self._range(token)
        run = _Run(self, begin + (len(self._line(begin)) if token.type == "fence" else 0), end)
        self.builder.leave_out("markup", token.info)
        for line in token.content.splitlines(keepends=True):
            run.add(line.rstrip("\n"))
            run.text += "\n" * line.endswith("\n")
        # Code stays with the text before it.
        self._add(run.text.rstrip(), run.places, joined=True)

    def _html(self, token: Token) -> None:
        from html import unescape

        begin, end = self._range(token)
        run = _Run(self, begin, end)
        done = 0
        for tag in _TAG.finditer(token.content):
            self._plain(run, unescape(token.content[done : tag.start()]))
            self.builder.leave_out("markup", tag.group())
            if not _INLINE.match(tag.group()):
                self._plain(run, " ")
            done = tag.end()
        self._plain(run, unescape(token.content[done:]))
        self._add(run.text, run.places, joined=False)

    @staticmethod
    def _plain(run: _Run, text: str) -> None:
        """Add text between tags, collapsing the white space around its lines to single spaces."""
        for line in text.splitlines(keepends=True):
            if run.text and line[0].isspace() and not run.text[-1].isspace():
                run.text += " "
            run.add(line.strip())
            if run.text and line[-1].isspace() and not run.text[-1].isspace():
                run.text += "\n" if line[-1] == "\n" else " "

    def _add(self, text: str, places: list[Place], joined: bool, words: int | None = None) -> None:
        if not text.strip():
            return
        self.builder.add_block(text, places, joined=joined, words=words)
        self.joins = self.lists > 0
        self.mark = None
        self.ends_in_colon = text.rstrip().endswith(":")

    def _range(self, token: Token) -> tuple[int, int]:
        begin, end = token.map or (0, 0)
        return max(self.cursor, self.lines[min(begin, len(self.lines) - 1)]), self.lines[min(end, len(self.lines) - 1)]

    def _line(self, begin: int) -> str:
        end = self.source.find("\n", begin)
        return self.source[begin : end + 1 if end >= 0 else None]

    def line_of(self, offset: int) -> int:
        return bisect_right(self.lines, offset)

    def _inline(
        self,
        tokens: Sequence[Token],
        between: str = "",
        mark: tuple[str, str] | None = None,
        names: Sequence[str] = (),
    ) -> tuple[str, list[Place]]:
        """Return the text of inline tokens, after a list item's ``mark``, and the places of its parts.

        With ``names``, each token is a cell, preceded by its column's name and omitted without one.
        """
        run = _Run(self, *self._range(tokens[0])) if tokens else _Run(self, self.cursor, self.cursor)
        if mark:
            run.add(*mark)
        for number, token in enumerate(tokens):
            if names and not names[number]:
                continue
            run.text += between if number and run.text else ""
            run.text += f"{names[number]}: " if names else ""
            for child in flat_tokens(token.children or ()):
                self._child(run, child)
        return run.text, run.places

    def _child(self, run: _Run, child: Token) -> None:
        if child.type == LEFT_OUT:
            self.builder.leave_out(child.info, child.content)
        elif child.type in ("text", "code_inline"):
            run.add(child.content)
        elif child.type == "text_special":
            run.add(child.content, child.markup)
        elif child.type in ("softbreak", "hardbreak"):
            run.text = run.text.rstrip(" ") + shown_text(child)
        elif child.type == "html_inline":
            run.text += shown_text(child)
            self.builder.leave_out("markup", child.content)
        elif child.type in ("link_open", "image") and child.info != "auto":
            target = f"{child.attrs.get('href', '')} {child.attrs.get('src', '')} {child.attrs.get('title', '')}"
            self.builder.leave_out("link targets", target)


class _Run:
    """Text assembled from parts of ``source[begin:end]``, with their places."""

    def __init__(self, reader: _MarkdownReader, begin: int, end: int) -> None:
        self.reader, self.end = reader, end
        self.reader.cursor = max(self.reader.cursor, begin)
        self.text = ""
        self.places: list[Place] = []

    def add(self, content: str, written: str | None = None) -> None:
        """Add text, written in the file as ``written`` or, by default, literally."""
        if not content:
            return
        reader = self.reader
        # Code that spans two lines is never found literally: without a limit, the search would take quadratic time.
        limit = reader.cursor + len(content) + _NEAR if " " in content else self.end
        at = reader.source.find(written or content, reader.cursor, min(limit, self.end))
        if at < 0:
            at = min(reader.cursor, max(self.end - 1, 0))
            reader.cursor = at
        else:
            reader.cursor = at + len(written or content)
        while self.places and self.places[-1].start >= len(self.text):
            self.places.pop()  # of blanks cut off at the end of a line
        last = self.places[-1] if self.places else None
        if last is None or last.source is None or at - len(self.text) != last.source - last.start:
            self.places.append(Place(len(self.text), "", reader.line_of(at), at))
        self.text += content
