"""OpenDocument texts, spreadsheets and presentations."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words, real_title
from oreqa.corpus.formats.office.odf_inline import OdfInline, source_text
from oreqa.corpus.formats.office.packed import (
    attribute,
    child,
    local,
    open_archive,
    optional_part,
    packed_reader,
    parse_part,
)
from oreqa.corpus.formats.office.sheets import Sheet, SheetCell
from oreqa.corpus.formats.office.text import add_headers, add_slide_title
from oreqa.corpus.formats.office.word_styles import format_number
from oreqa.corpus.formats.table_rows import TableRows, looks_like_header
from oreqa.errors import DocumentError

_NUMBER_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_MOST_REPEATED = 1000
"""Most columns that one repeated cell fills: files repeat the last cell up to column 16,384."""


@packed_reader
def read_odf(data: bytes, path: Path) -> Document:
    """Read an .odt, .ods or .odp file, with its headings, sheets or slides as sections.

    Comments, deletions, tables of contents and descriptions of pictures are omitted. Headers and footers are read once, in
    a last section, unless they repeat the text or contain page numbers.
    """
    archive = open_archive(data)
    if b"encryption-data" in (
        archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
    ):
        raise DocumentError("it is encrypted: save a copy without its password")
    return _OdfReader(archive, TextBuilder(path)).read()


class _OdfReader:
    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        self._builder = builder
        self._content = parse_part(archive, "content.xml")
        self._layout = optional_part(archive, "styles.xml")
        meta = optional_part(archive, "meta.xml")
        titles = [part.text for part in (() if meta is None else meta.iter("{*}title"))]
        self._title = real_title((titles[0] if titles else "") or "")
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[str, Any]] = {}
        struck_out: set[tuple[str, str]] = set()
        for root in (self._layout, self._content):
            for style in () if root is None else root.iter("{*}style", "{*}list-style"):
                name = attribute(style, "name") or ""
                if local(style) == "style":
                    self._parents[name] = attribute(style, "parent-style-name") or ""
                    if _strikes_out(child(style, "text-properties")):
                        struck_out.add((attribute(style, "family") or "", name))
                else:
                    self._lists[name] = {attribute(level, "level") or "": level for level in style}
        self._inline = OdfInline(builder, struck_out)
        self._seen: set[str] = set()
        self._joins_item = False  # whether a list item would join the previous block: an item, or a text ending in a colon

    def read(self) -> Document:
        body = child(self._content, "body")
        kind = next(iter(body), None) if body is not None else None
        if kind is None:
            raise ValueError("it has no body")
        if local(kind) == "spreadsheet":
            for table in kind.iter("{*}table"):
                self._add_sheet(table)
        elif local(kind) in ("presentation", "drawing"):
            for number, page in enumerate(kind.iter("{*}page"), 1):
                self._add_slide(number, page)
        else:
            headers = list(self._headers())
            self._builder.start_page("", sum(count_words(source_text(root)) for root in (kind, *headers)))
            self._add_blocks(kind)
            add_headers(self._builder, self._header_lines(headers), self._seen, self._title)
        return self._builder.document(self._builder.title or self._title)

    def _add_blocks(self, parent: Any, place: str = "") -> None:
        for part in parent:
            name = local(part)
            if name in ("p", "h"):
                self._add_paragraph(part, place)
            elif name == "list":
                self._add_list(part, place, "", 1)
            elif name == "table":
                self._add_table(part, place)
            elif not self._inline.leaves_out(part):
                self._add_blocks(part, place)

    def _add_paragraph(self, paragraph: Any, place: str, mark: str = "") -> None:
        content = self._inline.read(paragraph)
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
                self._builder.add_block(text, place, joined=bool(mark) and self._joins_item, mark=mark)
            self._joins_item = bool(mark) or text.endswith(":")
        for note in content.notes:
            self._builder.add_block(self._inline.flat_text(note), place, joined=True)
        for box in content.boxes:
            self._joins_item = False
            self._add_blocks(box, place)

    def _style(self, paragraph: Any) -> str:
        """Return the name of a paragraph's style; for an automatic style (P1, P2 and so on), its parent's."""
        name = attribute(paragraph, "style-name") or ""
        return self._parents.get(name, "") if name[:1] == "P" and name[1:].isdecimal() else name

    def _add_list(self, items: Any, place: str, style: str, depth: int) -> None:
        style = attribute(items, "style-name") or style
        number = 0
        for item in items:
            if local(item) not in ("list-item", "list-header"):
                continue
            number += local(item) == "list-item"
            mark = self._mark(style, depth, number) if local(item) == "list-item" else ""
            for part in item:
                if local(part) == "list":
                    self._add_list(part, place, style, depth + 1)
                elif local(part) in ("p", "h"):
                    self._add_paragraph(part, place, mark if local(part) == "p" else "")
                    mark = ""
                elif not self._inline.leaves_out(part):
                    self._add_blocks(part, place)

    def _mark(self, style: str, depth: int, number: int) -> str:
        level = self._lists.get(style, {}).get(str(depth))
        if level is None or local(level) != "list-level-style-number":
            return "-"
        start = attribute(level, "start-value") or "1"
        shown = number - 1 + (int(start) if start.isdecimal() and len(start) < 9 else 1)
        kind = attribute(level, "num-format") or ""
        figure = format_number(shown, _NUMBER_FORMATS.get(kind, "decimal")) if kind else ""
        return f"{attribute(level, 'num-prefix') or ''}{figure}{attribute(level, 'num-suffix') or ''}".strip()

    def _add_table(self, table: Any, place: str) -> None:
        self._joins_item = False
        rows = [[cell for cell in row if local(cell) == "table-cell"] for row in _rows(table)]
        if all(len(row) < 2 for row in rows):
            for row in rows:
                for cell in row:
                    self._add_blocks(cell, place)
            return
        notes: list[list[Any]] = [[] for _ in rows]
        texts = [
            [self._inline.flat_text(cell, row_notes) for cell in row] for row, row_notes in zip(rows, notes, strict=True)
        ]
        named = any(local(part) == "table-header-rows" for part in table) or looks_like_header(texts)
        added = TableRows(self._builder.add_row)
        if any(local(cell) == "covered-table-cell" for row in _rows(table) for cell in row):
            added.has_spans()
        for number, (cells, row_notes) in enumerate(zip(texts, notes, strict=True)):
            self._seen.update(text.casefold() for text in cells)
            added.add(cells, place, is_header=named and number == 0)
            if row_notes:
                added.end()
            for note in row_notes:
                self._builder.add_block(self._inline.flat_text(note), place, joined=True)
        added.end()

    def _headers(self) -> Iterator[Any]:
        """Yield the headers and footers of all page styles."""
        for part in () if self._layout is None else self._layout.iter():
            if local(part).startswith(("header", "footer")) and local(part.getparent()) == "master-page":
                yield part

    def _header_lines(self, headers: list[Any]) -> Iterator[tuple[str, bool]]:
        for header in headers:
            for paragraph in header.iter("{*}p", "{*}h"):
                content = self._inline.read(paragraph)
                yield " ".join(content.text().split()), content.has_page_number

    def _add_slide(self, number: int, page: Any) -> None:
        place = f"slide {number}"
        self._builder.start_page(place, count_words(source_text(page)))
        frames = [part for part in page if local(part) != "notes"]
        titles = [frame for frame in frames if attribute(frame, "class") == "title"]
        title = self._inline.flat_text(titles[0]) if titles else ""
        add_slide_title(self._builder, number, title)
        for frame in frames:
            if not title or frame is not titles[0]:
                self._joins_item = False
                self._add_blocks([frame], place)
        for notes in page:
            if local(notes) == "notes":
                self._add_blocks(notes, f"{place}, notes")

    def _add_sheet(self, table: Any) -> None:
        name = attribute(table, "name") or ""
        sheet = Sheet(self._builder, name)
        number, words = 1, 0
        for row in _rows(table):
            cells: list[tuple[int, SheetCell]] = []
            column = 0
            for part in row:
                if local(part) not in ("table-cell", "covered-table-cell"):
                    continue
                text = self._inline.flat_text(part) if local(part) == "table-cell" else ""
                cell = SheetCell(text, attribute(part, "value-type") in (None, "string"))
                words += count_words(source_text(part)) if text and cell.words else 0
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
    """Yield the rows of a table, grouped or not, without those of nested tables."""
    for part in table:
        if local(part) == "table-row":
            yield part
        elif local(part).startswith("table-") and local(part) != "table-cell":
            yield from _rows(part)


def _strikes_out(properties: Any | None) -> bool:
    """Return whether a style's properties strike text out: by the line's style, or its kind."""
    if properties is None:
        return False
    lines = (attribute(properties, f"text-line-through-{name}") for name in ("style", "type"))
    return any(line not in (None, "", "none") for line in lines)
