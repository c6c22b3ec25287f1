"""The blocks of a web page: paragraphs, headings, lists, tables and code, assembled from its elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html import rules
from oreqa.corpus.formats.html.lines import Lines, List, Table, number_of
from oreqa.corpus.formats.raised import raised
from oreqa.corpus.formats.table_rows import TableRows

_LONG_CELL = 1000
"""A table cell longer than this, in characters, is used for layout: each of its paragraphs becomes a block."""


class Blocks:
    """Assembles the blocks of one page, to be added to a builder.

    Places start with ``base``; ``heading`` is put before a page that starts without one. Content is not omitted for the
    reasons in ``keep``. ``open_elements`` are the names of the parser's open elements, outermost first; ``notes`` are the
    numbers of the page's footnotes.
    """

    def __init__(self, base: str, heading: str, keep: Sequence[str], open_elements: Sequence[str], notes: Set[str]) -> None:
        self.title = ""
        self.count = 0  # blocks so far, without headings
        self._base, self._first_heading, self._keep, self._open, self._notes = base, heading, keep, open_elements, notes
        self._parts: list[Callable[[TextBuilder], None]] = []
        self._lines = Lines()
        self._place = self._block_place = base
        self._has_book_link = False  # whether the block has a link to the next page or similar
        self._heading: tuple[int, int, str] | None = None  # level, depth of its element, place of its anchor
        self._code = 0  # open code elements
        self._tables: list[Table] = []
        self._lists: list[List] = []
        self._marker = ""
        self._groups = 0  # open elements whose blocks stay together
        self._joins = False  # whether the next block stays with the previous one
        self._is_caption = False  # whether the block is the caption of the next
        self._after_colon = False
        self._after_term = False  # whether the last part of a definition list was a term

    def add_to(self, builder: TextBuilder) -> None:
        """Add everything to the builder, in page order."""
        for part in self._parts:
            part(builder)

    @property
    def size(self) -> tuple[int, int]:
        """Return the number of parts so far, and of blocks among them."""
        return len(self._parts), self.count

    def leave_out(self, reason: str, text: str) -> None:
        """Count the words of ``text`` as omitted."""
        self._parts.append(partial(TextBuilder.leave_out, reason=reason, text=text))

    def replace(self, first: tuple[int, int], last: tuple[int, int], reason: str, text: str) -> None:
        """Also omit what was added between two sizes, except the page's added heading and what was already omitted."""
        kept = [part for part in self._parts[first[0] : last[0]] if isinstance(part, partial)]
        self._parts[first[0] : last[0]] = [*kept, partial(TextBuilder.leave_out, reason=reason, text=text)]
        self.count -= last[1] - first[1]

    def end_page(self) -> None:
        """End whatever is still open."""
        self._end_heading()
        self._code = 0
        self.end_block()
        while self._tables:
            self._end_row()
            self._tables[-1].rows.end()
            self._tables.pop()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element, which is the last of the open ones."""
        if tag in rules.BLOCKS or ("style" in attributes and "display:block" in attributes["style"].replace(" ", "")):
            self._start_block(tag, attributes)
        elif tag == "br":
            self._lines.end_line()
        elif tag == "img":
            self._lines.separate()
            self.text(attributes.get("alt", ""))
            self._lines.separate()
        elif tag == "q":
            self.text("“")
        elif tag in ("a", "sup"):
            self._has_book_link = self._has_book_link or rules.is_book_link(attributes)
            if self._open[-2:] in (["a", "sup"], ["sup", "a"]):
                self._lines.separate()  # a footnote's mark is not part of the word before it
        elif tag not in rules.INSIDE_WORDS:
            self._lines.separate()
        self.note_anchor(tag, attributes)

    def note_anchor(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Make an element's anchor, if it has one, the place of the text that follows."""
        if not attributes:
            return
        if name := rules.anchor_name(tag, attributes):
            self._place = f"{self._base}#{name}"
            if self._heading and not self._heading[2]:
                self._heading = (*self._heading[:2], self._place)

    def _start_block(self, tag: str, attributes: Mapping[str, str]) -> None:
        level = rules.heading_level(tag, attributes)
        if self._heading and (level or tag in ("p", "ul", "ol", "dl", "table", "section", "article") or tag in rules.CODE):
            self._end_heading()  # its end tag is missing
        self.end_block()
        self._is_caption = attributes.get("class", "") in rules.CAPTIONS
        if level:
            self._detach_cell()
            self._heading = (level, len(self._open), "")
        elif tag in rules.CODE:
            self._detach_cell()
            self._code += 1
            self._joins = True
            self._groups += 1
        elif tag in ("ul", "ol", "menu", "dir"):
            start = number_of(attributes.get("start", ""), 1) if tag == "ol" else None
            self._lists.append(List(start, attributes.get("type", "")))
            self._begin_group()
        elif tag == "li":
            self._marker = self._lists[-1].marker(attributes.get("value", "")) if self._lists else "- "
        elif tag == "dl":
            self._detach_cell()
            self._after_term = False
        elif tag == "dt":
            self._joins = self._after_term or (self._groups > 0 and not rules.anchor_name(tag, attributes))
            self._groups += 1
        elif tag == "dd":
            self._joins = True
            self._groups += 1
        elif tag == "table":
            self._detach_cell()
            self._tables.append(Table(TableRows(self._emit_row_text, " " if rules.is_layout(attributes) else " | ")))
            self._begin_group()
        elif tag == "tr":
            self._end_row()
        elif tag in ("td", "th") and self._tables:
            self._end_cell()  # if its end tag is missing
            self._tables[-1].open_cell(attributes)
            self._tables[-1].heads += tag == "th"
        elif tag == "p" and self._tables and self._tables[-1].cell:
            self._detach_cell()  # the cell has several paragraphs
        elif tag == "figcaption":
            self._joins = True

    def end(self, tag: str) -> None:
        """Handle the end of an element, which is still the last of the open ones."""
        if self._heading and self._heading[1] == len(self._open):
            self._end_heading()
        elif tag in rules.BLOCKS:
            self._end_block_element(tag)
        elif tag == "q":
            self.text("”")
        elif tag not in rules.INSIDE_WORDS and tag != "br":
            self._lines.separate()

    def _end_block_element(self, tag: str) -> None:
        self.end_block()
        if tag in rules.CODE and self._code:
            self._code -= 1
            self.end_block()
            self._end_group()
        elif tag in ("ul", "ol", "menu", "dir"):
            self._marker = ""
            if self._lists:
                self._lists.pop()
            self._end_group()
        elif tag in ("dt", "dd"):
            self._after_term = tag == "dt"
            self._end_group()
        elif tag in ("td", "th") and self._tables:
            self._end_cell()
        elif tag == "tr":
            self._end_row()
        elif tag == "table" and self._tables:
            self._end_cell()
            self._end_row()
            self._tables[-1].rows.end()
            self._tables.pop()
            self._end_group()
        elif tag in ("article", "section"):
            self._after_colon = False

    def _begin_group(self) -> None:
        """Keep the blocks that follow together, and with the previous one if it ends in a colon."""
        self._joins = self._joins if self._groups else self._after_colon
        self._groups += 1

    def _end_group(self) -> None:
        self._groups = max(0, self._groups - 1)
        if self._groups == 0:
            self._joins = self._after_colon = False

    def text(self, text: str) -> None:
        """Add text; a power outside of links is separated from its base: ``2⁶⁴``, not 264."""
        if "sup" in (nearest := self._open[-3:]) and "a" not in nearest:
            text = raised(text, self._lines.tail, self._notes)
        elif "sup" in nearest and text.strip().isdigit() and self._lines.tail.rstrip()[-1:].isdigit():
            self.leave_out("footnote marks", text)
            return
        if self._lines.add(text, code=self._code > 0):
            self._block_place = self._place

    def end_block(self) -> None:
        """End the current block, or the current line within code."""
        if self._heading:
            self._lines.separate()
        elif self._code > 0 and self._lines.has_text and self._open[-1] not in rules.CODE:
            self._lines.end_line(once=True)
        else:
            self._end_text_block()

    def _end_text_block(self) -> None:
        text, has_book_link, self._has_book_link = self._lines.take(), self._has_book_link, False
        if not text.strip():
            return
        table = self._tables[-1] if self._tables else None
        is_line = has_book_link and "navigation" not in self._keep and rules.is_book_line(text)
        if is_line or (not table and not self._lists and rules.is_colophon(text)):
            self.leave_out("navigation", text)
        elif table and table.cell is not None and not table.is_detached:
            if not (any(cell.text for cell in table.cells) or table.cell):
                table.place = self._block_place
            table.cell.append(" ".join(text.split()))
            if sum(map(len, table.cell)) > _LONG_CELL:
                self._detach_cell()
        else:
            if table:
                self._emit_row(table)  # text outside the cells, in malformed markup
                table.rows.end()
            self._emit(text, self._block_place)

    def _emit(self, text: str, place: str, words: int | None = None) -> None:
        if heading := self._first_heading:
            self._first_heading = ""
            self._parts.append(partial(TextBuilder.add_heading, level=1, text=heading, place=self._base, added=True))
        mark, joined = self._marker.strip(), self._joins
        self._parts.append(lambda builder: builder.add_block(text, place, joined=joined, mark=mark, words=words))
        self.count += 1
        self._marker = ""
        self._joins, self._is_caption = self._groups > 0 or self._is_caption, False
        self._after_colon = text.endswith(":")

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        (level, _, place), self._heading = self._heading, None
        text = " ".join(self._lines.take().split())
        self._marker, self._joins, self._after_colon = "", False, False
        if not text:
            return
        if level == 1 and not self._base and text == (self.title or text):
            self.title = text
            self._parts.append(lambda builder: builder.add_title(text))
        else:
            self._first_heading, where = "", place or self._block_place
            self._parts.append(lambda builder: builder.add_heading(level, text, where))

    def _detach_cell(self) -> None:
        """Separate the open cell's blocks from its row, as it has more than one line; the row so far becomes a block."""
        table = self._tables[-1] if self._tables else None
        if table is None or table.is_detached:
            return
        self._emit_row(table)
        table.rows.end()
        if table.cell is None:
            return
        table.is_detached = True
        self._groups -= 1
        self._joins = self._groups > 0
        self._marker = ""

    def _end_cell(self) -> None:
        table = self._tables[-1]
        if table.is_detached:
            table.is_detached = False
            self._groups += 1
            table.cell = None
        elif table.cell is not None:
            table.close_cell()
        self._marker = ""

    def _end_row(self) -> None:
        if self._tables:
            if self._tables[-1].cell is not None:
                self._end_cell()
            self._emit_row(self._tables[-1])

    def _emit_row(self, table: Table) -> None:
        is_open = table.cell is not None
        if is_open:
            table.close_cell()
        table.add_row()
        table.cell = [] if is_open else None

    def _emit_row_text(self, text: str, place: str, *, is_first: bool, starts_paragraph: bool, words: int) -> None:
        self._marker, self._joins = "", self._joins and not starts_paragraph
        self._emit(text, place, words)
