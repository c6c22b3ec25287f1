"""Word documents.

Parsed from the XML itself, because the libraries for Word files drop text boxes, notes and tracked changes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.office.docx_inline import PROPERTIES, DocxInline
from oreqa.corpus.formats.office.packed import (
    all_text,
    alternative_of,
    attribute,
    below,
    child,
    core_title,
    local,
    open_archive,
    optional_part,
    packed_reader,
    parse_part,
    relations,
)
from oreqa.corpus.formats.office.text import add_headers
from oreqa.corpus.formats.office.word_styles import Numbering, Strikes, Styles
from oreqa.corpus.formats.table_rows import TableRows, looks_like_header

_BLOCKS = ("p", "tbl")
_LAYOUT_CELL = 300
"""A one-row table with a longer cell, in characters, is used for layout: its cells are read one by one."""


@packed_reader
def read_docx(data: bytes, path: Path) -> Document:
    """Read a Word document: paragraphs, lists, tables, text boxes and notes in order, with its headings as sections.

    Headers and footers are read once, in a last section; those that repeat the text or contain page numbers are omitted, as
    are comments, deletions, struck-out text, and tables of contents.
    """
    return _WordReader(open_archive(data), TextBuilder(path)).read()


class _WordReader:
    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        main = next((part for _, kind, part in relations(archive, "") if kind == "officeDocument"), "word/document.xml")
        self._archive = archive
        self._builder = builder
        self._root = parse_part(archive, main)
        self._relations = relations(archive, main)
        styles = self._part("styles")
        self._styles = Styles(styles)
        self._numbering = Numbering(self._part("numbering"))
        notes = {
            (name, attribute(note, "id")): note
            for name in ("footnote", "endnote")
            for note in _children(self._part(f"{name}s"))
        }
        self._inline = DocxInline(archive, self._relations, notes, Strikes(styles), builder)
        self._seen: set[str] = set()  # texts of paragraphs and cells, case-folded
        self._title = core_title(archive)
        self._joins_item = False  # whether a list item would join the previous block: an item, or a text ending in a colon

    def _part(self, kind: str) -> Any | None:
        return next(
            (optional_part(self._archive, part) for _, part_kind, part in self._relations if part_kind == kind), None
        )

    def _all_parts(self, *kinds: str) -> list[Any]:
        names = dict.fromkeys(part for _, kind, part in self._relations if kind in kinds)
        return [root for name in names if (root := optional_part(self._archive, name)) is not None]

    def read(self) -> Document:
        body = child(self._root, "body")
        if body is None:
            raise ValueError("it has no body")
        others = self._all_parts("footnotes", "endnotes", "header", "footer", "comments", "diagramData")
        self._builder.start_page("", sum(count_words(all_text(root)) for root in (self._root, *others)))
        paragraphs = below(body, "p")
        levels = [(role.level, p) for p in paragraphs if (role := self._styles.role(p)).level in (0, 1)]
        tops = [p for level, p in levels if level == 1]
        # The only level 1 heading is the title if the document has no other.
        self._top = tops[0] if len(tops) == 1 and not self._title and not any(level == 0 for level, _ in levels) else None
        self._add_blocks(body)
        for root in self._all_parts("comments"):
            self._builder.leave_out("comments", all_text(root))
        add_headers(self._builder, self._header_lines(), self._seen, self._title)
        return self._builder.document(self._builder.title or self._title)

    def _add_blocks(self, parent: Any) -> None:
        for block in _unwrapped(parent, _BLOCKS):
            if local(block) == "tbl":
                self._add_table(block)
            else:
                self._add_paragraph(block)

    def _add_paragraph(self, paragraph: Any) -> None:
        role = self._styles.role(paragraph)
        if role.level is not None:
            self._inline.close_fields()  # no field spans a heading, unless its end is missing
        self._inline.close_page_fields()
        content = self._inline.read(paragraph)
        text = content.text()
        if role.contents:
            self._builder.leave_out("table of contents", text)
        elif text:
            self._seen.add(text.casefold())
            self._add_text(paragraph, text, role.level, role.number)
        self._add_notes(content.notes)
        for box in content.boxes:
            self._add_box(box)

    def _add_text(self, paragraph: Any, text: str, level: int | None, number: tuple[str, int] | None) -> None:
        if level == 0 or paragraph is self._top or (level == 1 and text == self._title != self._builder.title):
            self._builder.add_title(text)
        elif level:
            self._builder.add_heading(level, text)
        else:
            mark = self._numbering.mark(number)
            self._builder.add_block(text, joined=bool(mark) and self._joins_item, mark=mark)
            self._joins_item = bool(mark) or text.endswith(":")
            return
        self._joins_item = False

    def _add_notes(self, notes: list[Any]) -> None:
        for note in notes:
            self._builder.add_block(self._flat_text(note), joined=True)

    def _add_box(self, box: Any) -> None:
        """Add a text box, or a diagram's data model, whose paragraphs are DrawingML's."""
        self._joins_item = False
        with self._inline.without_fields():
            if local(box) == "dataModel":
                for paragraph in below(box, "p"):
                    self._builder.add_block(self._inline.read(paragraph).text())
            else:
                self._add_blocks(box)

    def _add_table(self, table: Any) -> None:
        rows = [list(_unwrapped(row, ("tc",))) for row in _unwrapped(table, ("tr",))]
        self._joins_item = False
        if all(len(row) < 2 for row in rows) or (
            len(rows) == 1 and any(len(all_text(cell)) > _LAYOUT_CELL for cell in rows[0])
        ):
            for row in rows:
                for cell in row:
                    self._add_blocks(cell)
            return
        notes: list[list[Any]] = [[] for _ in rows]
        texts = [[self._flat_text(cell, row_notes) for cell in row] for row, row_notes in zip(rows, notes, strict=True)]
        named = _has_header(table) or looks_like_header(texts)
        added = TableRows(self._builder.add_row)
        for number, (cells, row_notes) in enumerate(zip(texts, notes, strict=True)):
            self._seen.update(text.casefold() for text in cells)
            added.add(cells, is_header=named and number == 0)
            if row_notes:
                added.end()
                self._add_notes(row_notes)
        added.end()

    def _flat_text(self, parent: Any, notes: list[Any] | None = None) -> str:
        """Return the text of all paragraphs below an element as one line; ``notes`` collects the notes they refer to."""
        texts = []
        for block in _unwrapped(parent, _BLOCKS):
            if local(block) == "tbl":
                cells = [cell for row in _unwrapped(block, ("tr",)) for cell in _unwrapped(row, ("tc",))]
                texts += [self._flat_text(cell, notes) for cell in cells]
                continue
            content = self._inline.read(block)
            texts += [content.text(), *(self._flat_text(box, notes) for box in content.boxes)]
            if notes is not None:
                notes += content.notes
        return " ".join(" ".join(texts).split())

    def _header_lines(self) -> Iterator[tuple[str, bool]]:
        """Yield the blocks of headers and footers, each with whether it has a page number."""
        for root in self._all_parts("header", "footer"):
            self._inline.close_fields()
            for block in _unwrapped(root, _BLOCKS):
                if local(block) == "tbl":
                    yield self._flat_text(block), False
                else:
                    content = self._inline.read(block)
                    boxes = (self._flat_text(box) for box in content.boxes)
                    yield " ".join([content.text(), *boxes]).strip(), content.has_page_number


def _children(root: Any | None) -> Iterator[Any]:
    yield from () if root is None else root


def _unwrapped(parent: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the elements with these names, unwrapping content controls, insertions and alternatives."""
    for part in parent:
        name = local(part)
        if name in names:
            yield part
        elif name == "AlternateContent":
            alternative = alternative_of(part)
            yield from () if alternative is None else _unwrapped(alternative, names)
        elif name not in PROPERTIES and name != "moveFrom":
            yield from _unwrapped(part, names)


def _has_header(table: Any) -> bool:
    """Return whether the first row of a table is repeated on every page, like a header."""
    row = next(iter(_unwrapped(table, ("tr",))), ())
    return any(local(part) == "tblHeader" for properties in row if local(properties) == "trPr" for part in properties)
