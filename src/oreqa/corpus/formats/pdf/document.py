"""PDFs: text with headings and page numbers, without running heads and tables of contents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import IO

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from oreqa.core import Document, PageWords, Place
from oreqa.corpus import limits
from oreqa.corpus.builder import TextBuilder, count_words, real_title
from oreqa.corpus.formats.pdf.characters import ACCENTS
from oreqa.corpus.formats.pdf.furniture import CONTENTS, RUNNING_HEADS, LineKey, find_contents, find_heads, last_number
from oreqa.corpus.formats.pdf.headings import Heading, biggest_line, numbered_headings, outline_headings, read_outline
from oreqa.corpus.formats.pdf.layout import pack_layout
from oreqa.corpus.formats.pdf.lines import Line, page_lines
from oreqa.corpus.formats.pdf.ocr import is_installed, recognize_lines
from oreqa.corpus.formats.pdf.paragraphs import join, measure, split_blocks, words_of
from oreqa.corpus.formats.pdf.rulings import Rule, read_rules
from oreqa.corpus.formats.pdf.stretches import Stretch, add_table, stretches_of
from oreqa.corpus.formats.pdf.tables import PageTable, find_tables, may_have_tables
from oreqa.errors import DocumentError

UNREADABLE_PDF = "it is not a readable PDF; it is damaged, or of another type: save it again in its own program"
_PICTURES = (pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_FORM)
_DRAWN_APART = re.compile(rf"(?<=\w)[{ACCENTS}](?=\w)")
_OBJECTS = 1000
"""Most objects of a page that are examined for pictures."""


@dataclass(slots=True)
class _Pages:
    """A PDF's content, by page: lines, word counts, whether it has pictures, heights, and rules if tables are likely."""

    lines: list[list[Line]] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    pictures: list[bool] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    rules: list[Sequence[Rule]] = field(default_factory=list)
    scanned: set[int] = field(default_factory=set)
    """The pages whose lines were recognized in pictures."""


def read_pdf(data: bytes, path: Path, before_page: Callable[[], None] = lambda: None) -> Document:
    """Read a PDF, with its layout. Its places are "page 3" and so on, counted from 1 in the file.

    ``before_page`` is called before each scanned page, which takes seconds and gigabytes to recognize.

    Raises DocumentError if it is encrypted or damaged.
    """
    try:
        pdf = open_pdf(data)
        try:
            pages = _read_pages(pdf, before_page)
            outline = read_outline(pdf)
            title = real_title(pdf.get_metadata_value("Title"))
        finally:
            pdf.close()
    except pdfium.PdfiumError as error:  # a damaged file can fail anywhere inside the library
        raise DocumentError(UNREADABLE_PDF) from error
    omitted = _leave_out(pages.lines, pages.heights)
    lines = [[line for line in page if (line.page, line.number) not in omitted] for page in pages.lines]
    for page in lines:
        measure(page)
    _clear_mono(lines)
    headings = outline_headings(outline, lines) if outline else numbered_headings(lines)
    tables: dict[LineKey, PageTable] = {}
    for _, section in _sections(lines, headings):
        for number, group in groupby(section, key=lambda line: line.page):
            part = list(group)
            for table in find_tables(part, pages.rules[number]):
                tables.update(((line.page, line.number), table) for line in part[table.first : table.end])
    builder = TextBuilder(path)
    read, stretches = _build(builder, lines, headings, tables)
    for number, page in enumerate(pages.lines):
        if not pages.words[number] and not pages.pictures[number]:
            continue
        reasons: Counter[str] = Counter()
        for line in page:
            if reason := omitted.get((line.page, line.number)):
                reasons[reason] += count_words(line.text)
        builder.add_page(PageWords(_name(number), pages.words[number], read[number], dict(reasons)))
    if title == path.stem:
        title = ""
    layout = pack_layout([stretch for stretch in stretches if stretch.page not in pages.scanned])
    return replace(builder.document(title or biggest_line(lines)), layout=layout)


def open_pdf(data: bytes | Path | IO[bytes]) -> pdfium.PdfDocument:
    """Open a PDF from a file or its bytes. Raises DocumentError if it is encrypted with a password or is not a PDF."""
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY):
            raise DocumentError("it is encrypted: save a copy without its password") from error
        raise DocumentError(UNREADABLE_PDF) from error
    if len(pdf) > limits.SECTIONS:
        pdf.close()
        raise DocumentError(f"it has more than {limits.SECTIONS:,} pages: split it")
    return pdf


def _read_pages(pdf: pdfium.PdfDocument, before_page: Callable[[], None]) -> _Pages:
    pages = _Pages()
    characters = failed = 0
    for number in range(len(pdf)):
        lines: list[Line] = []
        words, pictures, height = 0, True, 0.0
        rules: Sequence[Rule] = ()
        try:
            page = pdf[number]
        except pdfium.PdfiumError:
            failed += 1
        else:
            text = page.get_textpage()
            height = page.get_height()
            lines = [line for line, _ in page_lines(page, text, number)]
            if may_have_tables(lines):
                rules = read_rules(page)
            # PDFium's own text of the page; neither its hyphens at line ends nor accents separate words
            words = count_words(_DRAWN_APART.sub("", text.get_text_bounded().replace("\x02", "")))
            pictures = bool(words) or _shows_pictures(page)
            if pictures and not words and is_installed():
                lines, height = recognize_lines(page, number, before_page)
                pages.scanned.add(number)
                words = count_words(" ".join(line.text for line in lines))
            text.close()
            page.close()
        characters += sum(len(line.text) for line in lines)
        if characters > limits.TEXT_CHARACTERS:
            raise DocumentError(f"its text is longer than {limits.TEXT_CHARACTERS // 10**6} million characters: split it")
        pages.lines.append(lines)
        pages.words.append(words)
        pages.pictures.append(pictures)
        pages.heights.append(height)
        pages.rules.append(rules)
    if failed == len(pdf):
        raise DocumentError("it is not a readable PDF (none of its pages can be read)")
    return pages


def _shows_pictures(page: pdfium.PdfPage) -> bool:
    count = min(pdfium_c.FPDFPage_CountObjects(page), _OBJECTS)
    kinds = (pdfium_c.FPDFPageObj_GetType(pdfium_c.FPDFPage_GetObject(page, i)) for i in range(count))
    return any(kind in _PICTURES for kind in kinds)


def _leave_out(pages: Sequence[Sequence[Line]], heights: Sequence[float]) -> dict[tuple[int, int], str]:
    """Return the lines to omit, each with the reason."""
    reasons = dict.fromkeys(find_heads(pages, heights), RUNNING_HEADS)
    last: int | None = None
    for page in pages:
        lines = [line for line in page if (line.page, line.number) not in reasons]
        keys, reason = find_contents(lines, len(pages), last)
        last = last_number(lines, keys) if reason == CONTENTS else None
        reasons.update(dict.fromkeys(keys, reason))
    return reasons


def _clear_mono(pages: Sequence[Sequence[Line]]) -> None:
    """Unmark all lines as monospaced if most of the text is: then it is not code."""
    letters = sum(len(line.text) for page in pages for line in page)
    if 2 * sum(len(line.text) for page in pages for line in page if line.mono) > letters:
        for page in pages:
            for line in page:
                line.mono = False


def _build(
    builder: TextBuilder,
    pages: Sequence[Sequence[Line]],
    headings: Sequence[Heading],
    tables: Mapping[LineKey, PageTable],
) -> tuple[list[int], list[Stretch]]:
    """Add headings, paragraphs and tables. Returns the number of words read from each page, and the lines of the text."""
    words = words_of(line for page in pages for line in page)
    read = [0] * len(pages)
    stretches: list[Stretch] = []
    for heading, lines in _sections(pages, headings):
        if heading is not None:
            builder.add_heading(heading.level, heading.text, _name(heading.page))
            if heading.lines:
                read[heading.page] += count_words(heading.text)
        for table, group in _by_table(lines, tables):
            if table is not None:
                read[group[0].page] += add_table(builder, table, _name(group[0].page), words, stretches)
                continue
            for block in split_blocks(group):
                text, starts = join(block.lines, words)
                firsts = [starts[0], *(b for a, b in pairwise(starts) if b[1].page != a[1].page)]
                ends = [*(start for start, _, _ in firsts[1:]), len(text)]
                for (start, line, _), end in zip(firsts, ends, strict=True):
                    read[line.page] += count_words(text[start:end])
                builder.add_block(text, [Place(start, _name(line.page)) for start, line, _ in firsts], joined=block.joined)
                stretches += stretches_of(starts, builder.length - len(text))
    return read, stretches


def _by_table(lines: Sequence[Line], tables: Mapping[LineKey, PageTable]) -> Iterator[tuple[PageTable | None, list[Line]]]:
    """Yield the lines of each table, and those between tables. A table divided by a heading comes once."""
    for _, group in groupby(lines, key=lambda line: id(tables.get((line.page, line.number)))):
        members = list(group)
        yield tables.get((members[0].page, members[0].number)), members


def _sections(pages: Sequence[Sequence[Line]], headings: Sequence[Heading]) -> Iterator[tuple[Heading | None, list[Line]]]:
    """Yield each heading with the lines up to the next one, across pages."""
    lines: list[Line] = []
    heading: Heading | None = None
    remaining = iter(headings)
    next_heading = next(remaining, None)
    for number, page in enumerate(pages):
        at = 0
        while next_heading is not None and next_heading.page == number:
            lines += page[at : next_heading.before]
            yield heading, lines
            heading, lines = next_heading, []
            at = next_heading.before + next_heading.lines
            next_heading = next(remaining, None)
        lines += page[at:]
    yield heading, lines


def _name(number: int) -> str:
    return f"page {number + 1}"
