"""The inline content of a Word paragraph: runs, fields, references to notes, drawings and content controls."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.office.packed import (
    all_text,
    alternative_of,
    attribute,
    below,
    child,
    drawn_strike,
    local,
    optional_part,
)
from oreqa.corpus.formats.office.text import HEADERS_AND_FOOTERS, ParagraphContent
from oreqa.corpus.formats.office.word_styles import Strikes

PROPERTIES = ("rPr", "pPr", "sdtPr", "sdtEndPr", "sectPr", "tblPr", "trPr", "tcPr", "rt", "del")
"""Elements without visible text of the document: properties, ruby annotations and tracked deletions."""

_PAGE_FIELDS = ("PAGE", "NUMPAGES", "SECTIONPAGES")


@dataclass
class _Field:
    """An open field: its instruction, and whether its result has started."""

    instruction: str = ""
    in_result: bool = False

    def kind(self) -> str:
        return next(iter(self.instruction.split()), "").upper()


class DocxInline:
    """Reads the content of paragraphs. Keeps track of open fields, which can span paragraphs.

    ``relations`` are those of the main part, ``notes`` the note elements by kind and identifier, ``strikes`` detects
    struck-out text. Omitted words, such as page numbers and placeholders, are counted in ``builder``.
    """

    def __init__(
        self,
        archive: zipfile.ZipFile,
        relations: list[tuple[str, str, str]],
        notes: dict[tuple[str, str | None], Any],
        strikes: Strikes,
        builder: TextBuilder,
    ) -> None:
        self._archive = archive
        self._relations = relations
        self._notes = notes
        self._strikes = strikes
        self._builder = builder
        self._fields: list[_Field] = []
        self._paragraph: Any | None = None  # the one that is being read

    def read(self, paragraph: Any) -> ParagraphContent:
        """Return the content of a paragraph, which opens and closes fields."""
        content = ParagraphContent()
        self._paragraph = paragraph
        self._collect(paragraph, content)
        return content

    def close_fields(self) -> None:
        """Forget all open fields."""
        self._fields.clear()

    def close_page_fields(self) -> None:
        """Forget open fields for page numbers, which never span paragraphs."""
        self._fields = [field for field in self._fields if field.kind() not in _PAGE_FIELDS]

    @contextmanager
    def without_fields(self) -> Iterator[None]:
        """Read a text box, which has fields of its own, within a paragraph."""
        outer, self._fields = self._fields, []
        yield
        self._fields = outer

    def _collect(self, parent: Any, content: ParagraphContent) -> None:
        for part in parent:
            name = local(part)
            if name == "t":
                self._add_text(part.text or "", content)
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
                self._update_fields(attribute(part, "fldCharType"))
            elif name == "instrText" and self._fields:
                self._fields[-1].instruction += part.text or ""
            elif name == "fldSimple":
                self._fields.append(_Field(attribute(part, "instr") or "", in_result=True))
                self._collect(part, content)
                self._fields[-1:] = []
            elif name == "AlternateContent":
                alternative = alternative_of(part)
                self._collect(alternative if alternative is not None else (), content)
            elif name in ("drawing", "pict", "object"):
                content.boxes += self._boxes(part)
            elif name == "moveFrom":
                self._builder.leave_out("deletions", all_text(part))
            elif name == "r" and (drawn_strike(part) or self._strikes.strike_out(part, self._paragraph)):
                struck_out = ParagraphContent()
                self._collect(part, struck_out)
                content.take_struck_out(struck_out, self._builder)
            elif name not in PROPERTIES and not (name == "sdt" and self._is_placeholder(part)):
                self._collect(part, content)

    def _add_text(self, text: str, content: ParagraphContent) -> None:
        if any(not outer.in_result for outer in self._fields[:-1]):
            return  # the result of a field nested in another's instruction
        kinds = {field.kind() for field in self._fields if field.in_result}
        if "TOC" in kinds:
            self._builder.leave_out("table of contents", text)
        elif kinds & set(_PAGE_FIELDS):
            content.has_page_number = True
            self._builder.leave_out(HEADERS_AND_FOOTERS, text)
        else:
            content.pieces.append(text)

    def _update_fields(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(_Field())
        elif kind == "separate" and self._fields:
            self._fields[-1].in_result = True
        elif kind == "end":
            self._fields[-1:] = []

    def _boxes(self, drawing: Any) -> list[Any]:
        """Return a drawing's text boxes and the data models of its diagrams."""
        boxes = list(_text_boxes(drawing))
        for identifiers in below(drawing, "relIds"):
            data = attribute(identifiers, "dm")
            names = [part for key, kind, part in self._relations if key == data and kind == "diagramData"]
            root = optional_part(self._archive, names[0]) if names else None
            boxes += [] if root is None else [root]
        return boxes

    def _is_placeholder(self, control: Any) -> bool:
        """Return whether a content control contains only its placeholder prompt, and count that as omitted."""
        if child(child(control, "sdtPr"), "showingPlcHdr") is None:
            return False
        self._builder.leave_out("placeholders", all_text(control))
        return True


def _text_boxes(drawing: Any) -> Iterator[Any]:
    for part in drawing:
        if local(part) == "AlternateContent":
            alternative = alternative_of(part)
            yield from () if alternative is None else _text_boxes(alternative)
        elif local(part) == "txbxContent":
            yield part
        else:
            yield from _text_boxes(part)
