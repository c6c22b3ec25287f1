"""OpenDocument texts, spreadsheets and presentations. Offsets point into the extracted text."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.packed import (
    attribute,
    child,
    local,
    open_archive,
    optional_part,
    packed_reader,
    parse_part,
    tidy,
)
from oreqa.corpus.formats.sheets import Cell, Sheet
from oreqa.corpus.formats.word_styles import format_number
from oreqa.corpus.titles import real_title
from oreqa.errors import DocumentError

_WITHOUT_TEXT = ("forms", "event-listeners", "ruby-text", "note-citation", "variable-decls", "sequence-decls")
_LEFT_OUT = {
    "tracked-changes": "deletions",
    "annotation": "comments",
    "title": "descriptions of pictures",
    "desc": "descriptions of pictures",
    "page-number": "headers and footers",
    "page-count": "headers and footers",
    "table-of-content": "table of contents",
    "alphabetical-index": "table of contents",
    "illustration-index": "table of contents",
    "table-index": "table of contents",
    "object-index": "table of contents",
    "user-index": "table of contents",
}
_NUMBER_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MOST_REPEATED = 1000
"""Columns: a cell can say that it stands for the sixteen thousand that follow."""


@packed_reader
def read_odf(data: bytes, path: Path) -> Document:
    """An .odt, .ods or .odp file: its headings, sheets or slides as sections.

    Comments, deletions, tables of contents and descriptions of pictures are left out; headers and footers of pages are read
    once, in a section of their own, unless they repeat the text or count the pages.
    """
    archive = open_archive(data)
    if b"encryption-data" in (
        archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
    ):
        raise DocumentError("it is encrypted: save a copy without its password")
    return _File(archive, TextBuilder(path)).read()


@dataclass
class _Content:
    """What a paragraph holds beside its text: notes, and text boxes anchored in it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    pages: bool = False

    def text(self) -> str:
        return tidy("".join(self.pieces))


class _File:
    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        self._builder = builder
        self._content = parse_part(archive, "content.xml")
        self._layout = optional_part(archive, "styles.xml")
        meta = optional_part(archive, "meta.xml")
        titles = [part.text for part in (() if meta is None else meta.iter("{*}title"))]
        self._title = real_title((titles[0] if titles else "") or "")
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[str, Any]] = {}
        for root in (self._layout, self._content):
            for style in () if root is None else root.iter("{*}style", "{*}list-style"):
                name = attribute(style, "name") or ""
                if local(style) == "style":
                    self._parents[name] = attribute(style, "parent-style-name") or ""
                else:
                    self._lists[name] = {attribute(level, "level") or "": level for level in style}
        self._seen: set[str] = set()
        self._item = False  # whether what was read last is an item of a list, or a sentence that announces one

    def read(self) -> Document:
        body = child(self._content, "body")
        kind = next(iter(body), None) if body is not None else None
        if kind is None:
            raise ValueError("it has no body")
        if local(kind) == "spreadsheet":
            for table in kind.iter("{*}table"):
                self._sheet(table)
        elif local(kind) in ("presentation", "drawing"):
            for number, page in enumerate(kind.iter("{*}page"), 1):
                self._page(number, page)
        else:
            running = list(self._running())
            self._builder.start_page("", sum(count_words(_source(root)) for root in (kind, *running)))
            self._blocks(kind)
            self._headers(running)
        return self._builder.document(self._builder.title or self._title)

    def _blocks(self, parent: Any, place: str = "") -> None:
        for part in parent:
            name = local(part)
            if name in ("p", "h"):
                self._paragraph(part, place)
            elif name == "list":
                self._list(part, place, "", 1)
            elif name == "table":
                self._table(part, place)
            elif not self._skipped(part):
                self._blocks(part, place)

    def _skipped(self, part: Any) -> bool:
        name = local(part)
        if name == "title" and ":text:" in part.tag:  # a field that shows the document's title
            return False
        if name in _LEFT_OUT:
            self._builder.leave_out(_LEFT_OUT[name], _source(part))
        return not name or name in _LEFT_OUT or name in _WITHOUT_TEXT

    def _paragraph(self, paragraph: Any, place: str, mark: str = "") -> None:
        content = self._inline(paragraph)
        text = content.text()
        if text:
            self._seen.add(text.casefold())
            style = self._style(paragraph)
            if style == "Title":
                self._builder.add_title(text)
            elif local(paragraph) == "h":
                level = attribute(paragraph, "outline-level") or ""
                self._builder.add_heading(int(level) if level.isdecimal() and len(level) < 3 else 1, text, place)
            else:
                self._builder.add_block(text, place, joined=bool(mark) and self._item, mark=mark)
            self._item = bool(mark) or text.endswith(":")
        for note in content.notes:
            self._builder.add_block(self._flat(note), place, joined=True)
        for box in content.boxes:
            self._item = False
            self._blocks(box, place)

    def _style(self, paragraph: Any) -> str:
        """The name of a paragraph's style; those that a program names P1, P2 and so on are based on one."""
        name = attribute(paragraph, "style-name") or ""
        return self._parents.get(name, "") if name[:1] == "P" and name[1:].isdecimal() else name

    def _list(self, items: Any, place: str, style: str, depth: int) -> None:
        style = attribute(items, "style-name") or style
        number = 0
        for item in items:
            if local(item) not in ("list-item", "list-header"):
                continue
            number += local(item) == "list-item"
            mark = self._mark(style, depth, number) if local(item) == "list-item" else ""
            for part in item:
                if local(part) == "list":
                    self._list(part, place, style, depth + 1)
                elif local(part) in ("p", "h"):
                    self._paragraph(part, place, mark if local(part) == "p" else "")
                    mark = ""
                elif not self._skipped(part):
                    self._blocks(part, place)

    def _mark(self, style: str, depth: int, number: int) -> str:
        level = self._lists.get(style, {}).get(str(depth))
        if level is None or local(level) != "list-level-style-number":
            return "-"
        start = attribute(level, "start-value") or "1"
        shown = number - 1 + (int(start) if start.isdecimal() and len(start) < 9 else 1)
        kind = attribute(level, "num-format") or ""
        figure = format_number(shown, _NUMBER_FORMATS.get(kind, "decimal")) if kind else ""
        return f"{attribute(level, 'num-prefix') or ''}{figure}{attribute(level, 'num-suffix') or ''}".strip()

    def _table(self, table: Any, place: str) -> None:
        self._item = False
        rows = [[cell for cell in row if local(cell) == "table-cell"] for row in _rows(table)]
        if all(len(row) < 2 for row in rows):
            for row in rows:
                for cell in row:
                    self._blocks(cell, place)
            return
        joined = False
        for row in rows:
            notes: list[Any] = []
            texts = [text for cell in row if (text := self._flat(cell, notes))]
            self._seen.update(text.casefold() for text in texts)
            self._builder.add_block(" | ".join(texts), place, joined=joined)
            joined = joined or bool(texts)
            for note in notes:
                self._builder.add_block(self._flat(note), place, joined=True)

    def _flat(self, parent: Any, notes: list[Any] | None = None) -> str:
        """All paragraphs below an element in one line; ``notes`` takes those that they refer to."""
        texts = []
        for part in parent:
            if local(part) in ("p", "h"):
                content = self._inline(part)
                texts += [content.text(), *(self._flat(box, notes) for box in content.boxes)]
                if notes is not None:
                    notes += content.notes
            elif not self._skipped(part):
                texts.append(self._flat(part, notes))
        return " ".join(" ".join(texts).split())

    def _inline(self, paragraph: Any) -> _Content:
        content = _Content()
        self._collect(paragraph, content)
        return content

    def _collect(self, parent: Any, content: _Content) -> None:
        content.pieces.append(parent.text or "")
        for part in parent:
            name = local(part)
            if name in ("s", "tab"):
                content.pieces.append(" ")
            elif name == "line-break":
                content.pieces.append("\n")
            elif name == "note":
                content.notes.append(child(part, "note-body") if child(part, "note-body") is not None else part)
            elif name in ("text-box", "list", "p", "h", "table"):
                content.boxes.append([part] if name != "text-box" else part)
            elif name in ("page-number", "page-count"):
                content.pages = True
                self._skipped(part)
            elif not self._skipped(part):
                self._collect(part, content)
            content.pieces.append(part.tail or "")

    def _running(self) -> Iterator[Any]:
        """The headers and footers of all kinds of pages."""
        for part in () if self._layout is None else self._layout.iter():
            if local(part).startswith(("header", "footer")) and local(part.getparent()) == "master-page":
                yield part

    def _headers(self, running: list[Any]) -> None:
        kept = []
        for root in running:
            for paragraph in root.iter("{*}p", "{*}h"):
                content = self._inline(paragraph)
                text = " ".join(content.text().split())
                if (content.pages and count_words(text) <= 3) or text.casefold() in self._seen or text == self._title:
                    self._builder.leave_out("headers and footers", text)
                elif text:
                    self._seen.add(text.casefold())
                    kept.append(text)
        if kept:
            self._builder.add_heading(1, "Headers and footers", added=True)
            for text in kept:
                self._builder.add_block(text, joined=True)

    def _page(self, number: int, page: Any) -> None:
        place = f"slide {number}"
        self._builder.start_page(place, count_words(_source(page)))
        frames = [part for part in page if local(part) != "notes"]
        titles = [frame for frame in frames if attribute(frame, "class") == "title"]
        title = self._flat(titles[0]) if titles else ""
        if title and number == 1:
            self._builder.add_title(title)
        else:
            self._builder.add_heading(1, title or place, place, added=not title)
        for frame in frames:
            if not title or frame is not titles[0]:
                self._item = False
                self._blocks([frame], place)
        for notes in page:
            if local(notes) == "notes":
                self._blocks(notes, f"{place}, notes")

    def _sheet(self, table: Any) -> None:
        name = attribute(table, "name") or ""
        sheet = Sheet(self._builder, name)
        number, words = 1, 0
        for row in _rows(table):
            cells: list[tuple[int, Cell]] = []
            column = 0
            for part in row:
                if local(part) not in ("table-cell", "covered-table-cell"):
                    continue
                text = self._flat(part) if local(part) == "table-cell" else ""
                cell = Cell(text, attribute(part, "value-type") in (None, "string"))
                words += count_words(_source(part)) if text and cell.words else 0
                repeated = attribute(part, "number-columns-repeated") or "1"
                times = min(int(repeated), _MOST_REPEATED) if repeated.isdecimal() and len(repeated) < 9 else 1
                words += (times - 1) * count_words(text) if cell.words else 0
                cells += [(column + n, cell) for n in range(times if text else 0)]
                column += times
            sheet.add_row(number, cells)
            repeated = attribute(row, "number-rows-repeated") or "1"
            number += int(repeated) if repeated.isdecimal() and len(repeated) < 9 else 1
        sheet.end(words)


def _rows(table: Any) -> Iterator[Any]:
    """The rows of a table, in groups or not, those of tables within it left out."""
    for part in table:
        if local(part) == "table-row":
            yield part
        elif local(part).startswith("table-") and local(part) != "table-cell":
            yield from _rows(part)


def _source(root: Any) -> str:
    """Every text below an element, whatever it stands in."""
    pieces: list[str] = []

    def walk(element: Any) -> None:
        if local(element) == "note-citation":
            return
        if local(element) in ("p", "h", "tab", "s", "line-break"):
            pieces.append(" ")
        pieces.append(element.text or "")
        for part in element:
            walk(part)
            pieces.append(part.tail or "")

    walk(root)
    return "".join(pieces)
