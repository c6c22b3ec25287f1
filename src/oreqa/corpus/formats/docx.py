"""Word documents. Offsets point into the extracted text.

Read from the XML itself, as the libraries for Word files leave out text boxes, notes and tracked changes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.packed import (
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
    tidy,
)  # fmt: skip
from oreqa.corpus.formats.word_styles import Numbering, Styles

_BLOCKS = ("p", "tbl")
_PROPERTIES = ("rPr", "pPr", "sdtPr", "sdtEndPr", "sectPr", "tblPr", "trPr", "tcPr", "rt", "del")
_PAGE_FIELDS = ("PAGE", "NUMPAGES", "SECTIONPAGES")
_LAYOUT_CELL = 300
"""A table of one row with a cell of so many characters is there for its looks: its cells are read one after the other."""


@packed_reader
def read_docx(data: bytes, path: Path) -> Document:
    """A Word document: paragraphs, lists, tables, text boxes and notes in order, its headings as sections.

    Headers and footers are read once, in a section of their own; those that repeat the text or count the pages are left out,
    as are comments, deletions and tables of contents.
    """
    return _Word(open_archive(data), TextBuilder(path)).read()


@dataclass
class _Field:
    """A field whose end has not come: its instruction, and whether its result has begun."""

    instruction: str = ""
    result: bool = False

    def kind(self) -> str:
        return next(iter(self.instruction.split()), "").upper()


@dataclass
class _Content:
    """What a paragraph holds beside its text: notes that it refers to, and text boxes anchored in it."""

    pieces: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    pages: bool = False

    def text(self) -> str:
        return tidy("".join(self.pieces))


class _Word:
    def __init__(self, archive: zipfile.ZipFile, builder: TextBuilder) -> None:
        main = next((part for _, kind, part in relations(archive, "") if kind == "officeDocument"), "word/document.xml")
        self._archive = archive
        self._builder = builder
        self._root = parse_part(archive, main)
        self._relations = relations(archive, main)
        self._styles = Styles(self._part("styles"))
        self._numbering = Numbering(self._part("numbering"))
        self._notes = {
            (name, attribute(note, "id")): note
            for name in ("footnote", "endnote")
            for note in _parts_of(self._part(f"{name}s"))
        }
        self._fields: list[_Field] = []
        self._seen: set[str] = set()
        self._title = core_title(archive)
        self._item = False  # whether what was read last is an item of a list, or a sentence that announces one

    def _part(self, kind: str) -> Any | None:
        return next((optional_part(self._archive, part) for _, of_kind, part in self._relations if of_kind == kind), None)

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
        self._top = tops[0] if len(tops) == 1 and not self._title and not any(level == 0 for level, _ in levels) else None
        self._blocks(body)
        for root in self._all_parts("comments"):
            self._builder.leave_out("comments", all_text(root))
        self._headers()
        return self._builder.document(self._builder.title or self._title)

    def _blocks(self, parent: Any) -> None:
        for block in _inner(parent, _BLOCKS):
            if local(block) == "tbl":
                self._table(block)
            else:
                self._paragraph(block)

    def _paragraph(self, paragraph: Any) -> None:
        role = self._styles.role(paragraph)
        if role.level is not None:
            self._fields.clear()  # no field goes on over a heading, unless its end is missing
        self._fields = [field for field in self._fields if field.kind() not in _PAGE_FIELDS]  # nor these over a paragraph
        content = self._content(paragraph)
        text = content.text()
        if role.contents:
            self._builder.leave_out("table of contents", text)
        elif text:
            self._seen.add(text.casefold())
            self._text(paragraph, text, role.level, role.number)
        self._add_notes(content)
        for box in content.boxes:
            self._box(box)

    def _text(self, paragraph: Any, text: str, level: int | None, number: tuple[str, int] | None) -> None:
        if level == 0 or paragraph is self._top or (level == 1 and text == self._title != self._builder.title):
            self._builder.add_title(text)
        elif level:
            self._builder.add_heading(level, text)
        else:
            mark = self._numbering.mark(number)
            self._builder.add_block(text, joined=bool(mark) and self._item, mark=mark)
            self._item = bool(mark) or text.endswith(":")
            return
        self._item = False

    def _add_notes(self, content: _Content) -> None:
        for note in content.notes:
            self._builder.add_block(self._flat(note), joined=True)

    def _box(self, box: Any) -> None:
        """A text box, with fields of its own; or a drawing's data, whose paragraphs are those of PowerPoint."""
        outer, self._fields = self._fields, []
        self._item = False
        if local(box) == "dataModel":
            for paragraph in below(box, "p"):
                self._builder.add_block(self._content(paragraph).text())
        else:
            self._blocks(box)
        self._fields = outer

    def _table(self, table: Any) -> None:
        rows = [list(_inner(row, ("tc",))) for row in _inner(table, ("tr",))]
        self._item = False
        if all(len(row) < 2 for row in rows) or (
            len(rows) == 1 and any(len(all_text(cell)) > _LAYOUT_CELL for cell in rows[0])
        ):
            for row in rows:
                for cell in row:
                    self._blocks(cell)
            return
        first = True
        for row in rows:
            content = _Content()
            texts = [self._flat(cell, content) for cell in row]
            line = " | ".join(text for text in texts if text)
            self._seen.update(text.casefold() for text in texts)
            self._builder.add_block(line, joined=not first)
            first = first and not line
            self._add_notes(content)

    def _flat(self, parent: Any, notes: _Content | None = None) -> str:
        """All paragraphs below an element in one line. Notes of a cell come after its row, those of a note nowhere."""
        texts = []
        for block in _inner(parent, _BLOCKS):
            if local(block) == "tbl":
                cells = [cell for row in _inner(block, ("tr",)) for cell in _inner(row, ("tc",))]
                texts += [self._flat(cell, notes) for cell in cells]
                continue
            content = self._content(block)
            texts += [content.text(), *(self._flat(box, notes) for box in content.boxes)]
            if notes is not None:
                notes.notes += content.notes
        return " ".join(" ".join(texts).split())

    def _headers(self) -> None:
        kept: list[str] = []
        for root in self._all_parts("header", "footer"):
            self._fields.clear()
            for block in _inner(root, _BLOCKS):
                content = _Content()
                if local(block) == "tbl":
                    text = self._flat(block)
                else:
                    content = self._content(block)
                    text = " ".join([content.text(), *(self._flat(box) for box in content.boxes)]).strip()
                counter = content.pages and count_words(text) <= 3
                if counter or text.casefold() in self._seen or text == self._title:
                    self._builder.leave_out("headers and footers", text)
                elif text:
                    self._seen.add(text.casefold())
                    kept.append(text)
        if kept:
            self._builder.add_heading(1, "Headers and footers", added=True)
            for text in kept:
                self._builder.add_block(text, joined=True)

    def _content(self, paragraph: Any) -> _Content:
        content = _Content()
        self._collect(paragraph, content)
        return content

    def _collect(self, parent: Any, content: _Content) -> None:
        for part in parent:
            name = local(part)
            if name == "t":
                self._run(part.text or "", content)
            elif name in ("tab", "ptab"):
                content.pieces.append(" ")
            elif name in ("br", "cr"):
                content.pieces.append("\n")
            elif name == "noBreakHyphen":
                content.pieces.append("-")
            elif name in ("footnoteReference", "endnoteReference"):
                note = self._notes.get((name.removesuffix("Reference"), attribute(part, "id")))
                content.notes += [] if note is None else [note]
            elif name == "fldChar":
                self._mark_field(attribute(part, "fldCharType"))
            elif name == "instrText" and self._fields:
                self._fields[-1].instruction += part.text or ""
            elif name == "fldSimple":
                self._fields.append(_Field(attribute(part, "instr") or "", result=True))
                self._collect(part, content)
                self._fields[-1:] = []
            elif name == "AlternateContent":
                alternative = alternative_of(part)
                self._collect(alternative if alternative is not None else (), content)
            elif name in ("drawing", "pict", "object"):
                content.boxes += self._boxes(part)
            elif name == "moveFrom":
                self._builder.leave_out("deletions", all_text(part))
            elif name not in _PROPERTIES and not (name == "sdt" and self._left_out(part)):
                self._collect(part, content)

    def _run(self, text: str, content: _Content) -> None:
        if any(not outer.result for outer in self._fields[:-1]):
            return  # the result of a field within the instruction of another
        kinds = {field.kind() for field in self._fields if field.result}
        if "TOC" in kinds:
            self._builder.leave_out("table of contents", text)
        elif kinds & set(_PAGE_FIELDS):
            content.pages = True
            self._builder.leave_out("headers and footers", text)
        else:
            content.pieces.append(text)

    def _mark_field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].result = True
        elif kind == "end":
            self._fields[-1:] = []

    def _boxes(self, drawing: Any) -> list[Any]:
        boxes = list(_text_boxes(drawing))
        for identifiers in below(drawing, "relIds"):
            data = attribute(identifiers, "dm")
            names = [part for key, kind, part in self._relations if key == data and kind == "diagramData"]
            root = optional_part(self._archive, names[0]) if names else None
            boxes += [] if root is None else [root]
        return boxes

    def _left_out(self, control: Any) -> bool:
        """Whether a content control holds nothing of the document's: the request to fill it in."""
        if child(child(control, "sdtPr"), "showingPlcHdr") is None:
            return False
        self._builder.leave_out("placeholders", all_text(control))
        return True


def _parts_of(root: Any | None) -> Iterator[Any]:
    yield from () if root is None else root


def _inner(parent: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Elements of these names, in whatever wrappers: content controls, insertions, alternatives."""
    for part in parent:
        name = local(part)
        if name in names:
            yield part
        elif name == "AlternateContent":
            alternative = alternative_of(part)
            yield from () if alternative is None else _inner(alternative, names)
        elif name not in _PROPERTIES and name != "moveFrom":
            yield from _inner(part, names)


def _text_boxes(drawing: Any) -> Iterator[Any]:
    for part in drawing:
        if local(part) == "AlternateContent":
            alternative = alternative_of(part)
            yield from () if alternative is None else _text_boxes(alternative)
        elif local(part) == "txbxContent":
            yield part
        else:
            yield from _text_boxes(part)
