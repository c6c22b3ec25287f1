"""Excel workbooks."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.office.packed import (
    all_text,
    below,
    core_title,
    local,
    open_archive,
    optional_part,
    packed_reader,
    relations,
    tidy,
)
from oreqa.corpus.formats.office.sheets import Region, Sheet, SheetCell
from oreqa.errors import DocumentError

_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\b[^<>]*?\bref=["']([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})["']""")
_CHUNK_BYTES, _TAG_BYTES = 1 << 20, 64
"""Bytes of a sheet read at a time, and more than the longest part of a tag that may be at their end."""

_NO_RESULT = "formulas without a result"


@packed_reader
def read_xlsx(data: bytes, path: Path) -> Document:
    """Read a workbook: a section per visible sheet, with its rows as blocks that name their columns.

    Text struck out by the fonts of cells, or of parts of their texts, is omitted. A damaged sheet is reported as MISSING.
    Raises DocumentError if no sheet can be read.
    """
    archive = open_archive(data)
    if b"http://purl.oclc.org/ooxml/" in archive.read(_main_part(archive))[:2000]:
        raise DocumentError("it is saved as Strict Open XML: save it as an ordinary Excel workbook")
    builder = TextBuilder(path)
    words = _SourceWords(archive)
    read = 0
    errors: list[Exception] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns about unknown styles
        book = _Book(data)
        for name, part in book.sheets():
            sheet = Sheet(builder, name)
            try:
                sheet.merge(_merged(archive, part))
                for cells in book.rows(part):
                    sheet.add_row(cells[0].row, [(cell.column, book.shown(cell)) for cell in cells])
                count, formulas = words.of(part)
            except (DocumentError, MemoryError):
                raise
            except Exception as error:  # zipfile, lxml and openpyxl each raise errors of their own
                errors.append(error)
                sheet.end_damaged()
                continue
            read += 1
            # The words of a result that is not stored are unknown: it counts as one word of the source.
            sheet.end(count + formulas, {_NO_RESULT: formulas} if formulas else {})
            for text in _drawn(archive, part):
                builder.add_block(text, f"sheet {name}")
    if errors and not read:
        raise errors[0]
    return builder.document(core_title(archive))


@packed_reader
def first_sheet(data: bytes, path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a workbook's first visible sheet: their numbers and displayed cells. Raises DocumentError."""
    open_archive(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = _Book(data)
        for _, part in book.sheets():
            rows = []
            for cells in book.rows(part):
                shown = {cell.column: book.shown(cell).text for cell in cells}
                rows.append((cells[0].row, [shown.get(column, "") for column in range(1, max(shown) + 1)]))
            return rows
    return []


class _Book:
    """Reads a workbook sheet by sheet through openpyxl's parsers.

    ``load_workbook`` fails if any sheet is damaged or a chart, and pads rows up to the last column.
    """

    def __init__(self, data: bytes) -> None:
        from openpyxl.reader.excel import ExcelReader
        from openpyxl.styles.stylesheet import apply_stylesheet

        self._reader = ExcelReader(io.BytesIO(data), read_only=True, data_only=True, rich_text=True)
        self._reader.read_manifest()
        self._reader.read_strings()
        self._reader.read_workbook()
        book = self._reader.wb
        apply_stylesheet(self._reader.archive, book)
        struck_out = {number for number, font in enumerate(book._fonts) if font.strike}
        self._struck_out = {number for number, style in enumerate(book._cell_styles) if style.fontId in struck_out}

    def sheets(self) -> Iterator[tuple[str, str]]:
        """Yield the names and parts of the visible sheets that are not charts."""
        for sheet, relation in self._reader.parser.find_sheets():
            if sheet.state == "visible" and "chartsheet" not in relation.Type:
                yield sheet.name, relation.target

    def rows(self, part: str) -> Iterator[list[Any]]:
        """Yield the cells of each row of a sheet, without empty ones."""
        from openpyxl.cell.read_only import ReadOnlyCell
        from openpyxl.worksheet._reader import WorkSheetParser

        book = self._reader.wb
        sheet = SimpleNamespace(parent=book)  # where cells look up their styles
        with self._reader.archive.open(part) as source:
            parser = WorkSheetParser(
                source,
                self._reader.shared_strings,
                data_only=True,
                epoch=book.epoch,
                date_formats=book._date_formats,
                timedelta_formats=book._timedelta_formats,
                rich_text=True,
            )
            for _, row in parser.parse():
                cells = [ReadOnlyCell(sheet, **cell) for cell in row if cell["value"] is not None]
                if cells:
                    yield cells

    def shown(self, cell: Any) -> SheetCell:
        """Return what a cell displays, without text struck out by its font or the fonts of parts of its text."""
        is_out = cell._style_id in self._struck_out
        if isinstance(cell.value, list):  # a text in several fonts; parts without one use the cell's
            parts = [(str(part), part.font.strike if hasattr(part, "font") else is_out) for part in cell.value]
            text = "".join(text for text, part_is_out in parts if not part_is_out)
            struck_out = " ".join(text for text, part_is_out in parts if part_is_out)
            return SheetCell(" ".join(text.split()), struck_out=struck_out)
        shown = _cell(cell)
        return SheetCell("", struck_out=shown.text if shown.words else "") if is_out else shown


def _cell(cell: Any) -> SheetCell:
    value = cell.value
    if isinstance(value, str):
        return SheetCell("" if cell.data_type == "e" else " ".join(value.split()))
    if isinstance(value, bool):
        return SheetCell(str(value).upper(), words=False)
    if isinstance(value, int | float):
        percent = isinstance(cell.number_format, str) and cell.number_format.endswith("%")
        return SheetCell(f"{value * 100:.10g}%" if percent else f"{value:.15g}", words=False)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return SheetCell(value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value), words=False)


def _main_part(archive: zipfile.ZipFile) -> str:
    return next((part for _, kind, part in relations(archive, "") if kind == "officeDocument"), "xl/workbook.xml")


def _merged(archive: zipfile.ZipFile, name: str) -> Iterator[Region]:
    """Yield the merged regions of a sheet, which are stored after its rows."""
    from openpyxl.utils.cell import range_boundaries

    with archive.open(name) as part:
        tail = b""
        while chunk := part.read(_CHUNK_BYTES):
            tail += chunk
            if (end := max(tail.rfind(b"</row>"), tail.rfind(b":row>"))) >= 0:
                tail = tail[end:]
            elif b"mergeCell" not in tail:
                tail = tail[-_TAG_BYTES:]
    for reference in _MERGED.findall(tail):
        left, top, right, bottom = range_boundaries(reference.decode("ascii"))
        yield Region(top, left, bottom, right)


def _drawn(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """Yield the paragraphs of the text boxes and shapes on a sheet."""
    for _, kind, part in relations(archive, sheet):
        root = optional_part(archive, part) if kind == "drawing" else None
        if root is not None:
            yield from (tidy(all_text(paragraph, struck_out=[])) for paragraph in below(root, "p"))


class _SourceWords:
    """Counts the words of text cells in the XML itself, independently of openpyxl."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        names = [part for _, kind, part in relations(archive, _main_part(archive)) if kind == "sharedStrings"]
        shared = optional_part(archive, names[0]) if names else None
        self._shared = [] if shared is None else [count_words(_plain(item)) for item in shared if local(item) == "si"]

    def of(self, name: str) -> tuple[int, int]:
        """Return the number of words in a sheet's text cells, and of formulas without a stored result."""
        from lxml import etree

        total = formulas = 0
        with self._archive.open(name) as part:
            for _, cell in etree.iterparse(part, tag="{*}c", resolve_entities=False, no_network=True):
                text = "".join(piece.text or "" for piece in cell if local(piece) == "v")
                kind = cell.get("t")
                # an empty string result has the type "str"
                formulas += not text and kind != "str" and any(local(piece) == "f" for piece in cell)
                if kind == "s" and text.strip().isdigit() and int(text) < len(self._shared):
                    total += self._shared[int(text)]
                elif kind == "str":
                    total += count_words(text)
                elif kind == "inlineStr":
                    total += count_words(_plain(cell))
                cell.clear()
        return total, formulas


def _plain(item: Any) -> str:
    """Return the text below an element, without phonetic guides."""
    return "".join(part.text or "" for part in item.iter("{*}t") if local(part.getparent()) != "rPh")
