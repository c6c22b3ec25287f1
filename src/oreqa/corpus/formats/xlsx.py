"""Excel workbooks. Offsets point into the extracted text."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.packed import (
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
from oreqa.corpus.formats.sheets import Cell, Sheet
from oreqa.errors import DocumentError


@packed_reader
def read_xlsx(data: bytes, path: Path) -> Document:
    """A workbook: a section for each sheet that is not hidden, its rows as blocks that name their columns."""
    import openpyxl

    archive = open_archive(data)
    if b"http://purl.oclc.org/ooxml/" in archive.read(_main_part(archive))[:2000]:
        raise DocumentError("it is saved as Strict Open XML: save it as a usual Excel workbook")
    builder = TextBuilder(path)
    words = _SourceWords(archive)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles, which change no text
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        for source in book.worksheets:
            if source.sheet_state != "visible":
                continue
            source.reset_dimensions()  # what the file says of them may be wrong
            sheet = Sheet(builder, source.title)
            for row in source.iter_rows():
                filled = [cell for cell in row if cell.value is not None]
                if filled:
                    cells = [Cell("")] * filled[-1].column
                    for cell in filled:
                        cells[cell.column - 1] = _cell(cell)
                    sheet.add_row(filled[0].row, cells)
            part = source._worksheet_path.lstrip("/")
            sheet.end(words.of(part))
            for text in _drawn(archive, part):
                builder.add_block(text, f"sheet {source.title}")
    return builder.document(core_title(archive))


def _cell(cell: Any) -> Cell:
    value = cell.value
    if isinstance(value, str):
        return Cell("" if cell.data_type == "e" else " ".join(value.split()))
    if isinstance(value, bool):
        return Cell(str(value).upper(), words=False)
    if isinstance(value, int | float):
        percent = isinstance(cell.number_format, str) and cell.number_format.endswith("%")
        return Cell(f"{value * 100:.10g}%" if percent else f"{value:.15g}", words=False)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return Cell(value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value), words=False)


def _main_part(archive: zipfile.ZipFile) -> str:
    return next((part for _, kind, part in relations(archive, "") if kind == "officeDocument"), "xl/workbook.xml")


def _drawn(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """The paragraphs of the text boxes and shapes that lie on a sheet."""
    for _, kind, part in relations(archive, sheet):
        root = optional_part(archive, part) if kind == "drawing" else None
        if root is not None:
            yield from (tidy(all_text(paragraph)) for paragraph in below(root, "p"))


class _SourceWords:
    """Counts the words of text cells in the XML itself, without the library that reads them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        names = [part for _, kind, part in relations(archive, _main_part(archive)) if kind == "sharedStrings"]
        shared = optional_part(archive, names[0]) if names else None
        self._shared = [] if shared is None else [count_words(_plain(item)) for item in shared if local(item) == "si"]

    def of(self, name: str) -> int:
        from lxml import etree

        total = 0
        with self._archive.open(name) as part:
            for _, cell in etree.iterparse(part, tag="{*}c", resolve_entities=False, no_network=True):
                text = "".join(piece.text or "" for piece in cell if local(piece) == "v")
                kind = cell.get("t")
                if kind == "s" and text.strip().isdigit() and int(text) < len(self._shared):
                    total += self._shared[int(text)]
                elif kind == "str":
                    total += count_words(text)
                elif kind == "inlineStr":
                    total += count_words(_plain(cell))
                cell.clear()
        return total


def _plain(item: Any) -> str:
    """The texts below an element, those of phonetic guides left out."""
    return "".join(part.text or "" for part in item.iter("{*}t") if local(part.getparent()) != "rPh")
