"""One web page, tag by tag: its blocks, headings, lists, tables and places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats import html_rules as rules
from oreqa.corpus.formats.html_lines import Lines, List, Table, number_of
from oreqa.corpus.formats.html_skipped import Marks, Skipped, marks_of

_LONG_CELL = 1000
"""Characters of a table's cell; one with more is there for the page's looks, and its paragraphs stand on their own."""


class PageReading:
    """One page on its way into a builder. The parser calls ``start``, ``end`` and ``data`` in the order of the page."""

    def __init__(self, base: str, heading: str, kept: Sequence[str], believed_not: frozenset[Marks]) -> None:
        self.title = ""
        self.blocks = 0  # read so far, headings aside
        self.misleading: set[Marks] = set()  # marks of parts that were left out, and turned out to be text
        self._parts: list[Callable[[TextBuilder], None]] = []
        self._base, self._first_heading, self._kept, self._believed_not = base, heading, kept, believed_not
        self._open: list[str] = []  # elements
        self._unseen = 0  # open elements whose text nobody sees
        self._skipped: Skipped | None = None
        self._own = 0  # open elements with headers and footers of their own
        self._lines = Lines()
        self._place = base
        self._block_place = base
        self._book_links = False  # whether the block has links to the next page and the like
        self._heading: tuple[int, int, str] | None = None  # level, open elements around it, its own place
        self._title: list[str] | None = None
        self._code = 0
        self._tables: list[Table] = []
        self._lists: list[List] = []
        self._marker = ""
        self._together = 0  # open elements whose blocks stay together
        self._joins = False  # whether the next block stays with the one before
        self._announces = False  # whether the block is the title of the next
        self._after_colon = False
        self._after_term = False  # whether the last part of a definition list was a term

    def fill(self, builder: TextBuilder) -> None:
        """Give the builder all that was read, in its order."""
        for part in self._parts:
            part(builder)

    # What the parser calls

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2].lower()
        self._open.append(tag)
        if tag in rules.UNSEEN:
            self._unseen += 1
        elif tag == "title":
            if self.title or self._title is not None or "body" in self._open:
                self._unseen += 1  # of a drawing
            else:
                self._title = []
        elif self._skipped:
            if self._skipped.ends_before(tag, attributes):
                self._end_skipped()
                self._start(tag, attributes)
            else:
                self._skipped.start(tag, attributes)
        else:
            reason = rules.left_out_as(tag, attributes, self._own == 0)
            if reason and reason not in self._kept and not (attributes and marks_of(tag, attributes) in self._believed_not):
                if tag in rules.BLOCKS:
                    self._break()
                elif tag in ("a", "span"):
                    self._mark(tag, attributes)  # the sign of a link to a heading may be what that link leads to
                self._skipped = Skipped(len(self._open), reason, marks_of(tag, attributes))
            else:
                self._start(tag, attributes)
        if tag in rules.OWN_TEXT:
            self._own += 1

    def end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2].lower()
        if not self._open or self._open[-1] != tag:
            return  # the parser closes what it opened
        depth = len(self._open)
        if tag in rules.OWN_TEXT:
            self._own -= 1
        if tag in rules.UNSEEN:
            self._unseen -= 1
        elif tag == "title":
            self._end_title()
        elif self._skipped:
            if self._skipped.depth == depth:
                self._end_skipped()
            else:
                self._skipped.end(tag)
        else:
            self._end(tag, depth)
        self._open.pop()

    def data(self, text: str) -> None:
        if self._unseen:
            return
        if self._title is not None:
            self._title.append(text)
        elif self._skipped:
            self._skipped.data(text)
        elif self._open and self._open[-1] == "noframes":
            self._text(rules.without_tags(text))
        else:
            self._text(text)

    def close(self) -> None:
        self._break()

    def _end_title(self) -> None:
        if self._title is None:
            self._unseen -= 1
        else:
            self.title = " ".join("".join(self._title).split())
            self._title = None

    # Elements

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in rules.BLOCKS or ("style" in attributes and "display:block" in attributes["style"].replace(" ", "")):
            self._start_block(tag, attributes)
        elif tag == "br":
            self._lines.end_line()
        elif tag == "img":
            self._lines.part()
            self._text(attributes.get("alt", ""))
            self._lines.part()
        elif tag == "q":
            self._text("“")
        elif tag in ("a", "sup"):
            self._book_links = self._book_links or rules.is_book_link(attributes)
            if self._open[-2:] in (["a", "sup"], ["sup", "a"]):
                self._lines.part()  # the sign of a footnote is no part of the word before it
        elif tag not in rules.INSIDE_WORDS:
            self._lines.part()
        self._mark(tag, attributes)

    def _mark(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note the place that an element names."""
        if not attributes:
            return
        if name := rules.place_name(tag, attributes):
            self._place = f"{self._base}#{name}"
            if self._heading and not self._heading[2]:
                self._heading = (*self._heading[:2], self._place)

    def _start_block(self, tag: str, attributes: Mapping[str, str]) -> None:
        level = rules.heading_level(tag, attributes)
        if self._heading and (level or tag in ("p", "ul", "ol", "dl", "table", "section", "article") or tag in rules.CODE):
            self._end_heading()  # it was not closed
        self._break()
        self._announces = attributes.get("class", "") in rules.ANNOUNCING
        if level:
            self._free_cell()
            self._heading = (level, len(self._open), "")
        elif tag in rules.CODE:
            self._free_cell()
            self._code += 1
            self._joins = True
            self._together += 1
        elif tag in ("ul", "ol", "menu", "dir"):
            start = number_of(attributes.get("start", ""), 1) if tag == "ol" else None
            self._lists.append(List(start, attributes.get("type", "")))
            self._begin_group()
        elif tag == "li":
            self._marker = self._lists[-1].marker(attributes.get("value", "")) if self._lists else "- "
        elif tag == "dl":
            self._free_cell()
            self._after_term = False
        elif tag == "dt":
            self._joins = self._after_term or (self._together > 0 and not rules.place_name(tag, attributes))
            self._together += 1
        elif tag == "dd":
            self._joins = True
            self._together += 1
        elif tag == "table":
            self._free_cell()
            self._tables.append(Table(between=" " if _is_layout(attributes) else " | "))
            self._begin_group()
        elif tag == "tr":
            self._end_row()
        elif tag in ("td", "th") and self._tables:
            self._end_cell()  # if it was not closed
            self._tables[-1].cell = []
        elif tag == "p" and self._tables and self._tables[-1].cell:
            self._free_cell()  # it has several paragraphs
        elif tag == "figcaption":
            self._joins = True

    def _end(self, tag: str, depth: int) -> None:
        if self._heading and self._heading[1] == depth:
            self._end_heading()
        elif tag in rules.BLOCKS:
            self._end_block(tag)
        elif tag == "q":
            self._text("”")
        elif tag not in rules.INSIDE_WORDS and tag != "br":
            self._lines.part()

    def _end_block(self, tag: str) -> None:
        self._break()
        if tag in rules.CODE and self._code:
            self._code -= 1
            self._break()
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
            self._tables.pop()
            self._end_group()
        elif tag in ("article", "section"):
            self._after_colon = False

    def _begin_group(self) -> None:
        """What follows stays together, and with the sentence that announces it."""
        if self._together == 0:
            self._joins = self._after_colon
        self._together += 1

    def _end_group(self) -> None:
        self._together = max(0, self._together - 1)
        if self._together == 0:
            self._joins = self._after_colon = False

    # Text

    def _text(self, text: str) -> None:
        if self._lines.add(text, code=self._code > 0):
            self._block_place = self._place

    def _break(self) -> None:
        """A block begins or ends here."""
        if self._heading:
            self._lines.part()
        elif self._code > 0 and self._lines.has_text and self._open[-1] not in rules.CODE:
            self._lines.end_line(once=True)
        else:
            self._end_text_block()

    def _end_text_block(self) -> None:
        text, links = self._lines.take(), self._book_links
        self._book_links = False
        if not text.strip():
            return
        table = self._tables[-1] if self._tables else None
        if links and "navigation" not in self._kept and rules.is_book_line(text):
            self._leave_out("navigation", text)
        elif table and table.cell is not None and not table.free:
            if not (table.cells or table.cell):
                table.place = self._block_place
            table.cell.append(" ".join(text.split()))
            if sum(map(len, table.cell)) > _LONG_CELL:
                self._free_cell()
        else:
            if table:
                self._emit_row(table)  # the text stands outside of the cells, as it may in a broken page
            self._emit(text, self._block_place)

    def _emit(self, text: str, place: str) -> None:
        if self._first_heading:
            self._add_heading(1, self._first_heading, self._base)
        mark, joined = self._marker.strip(), self._joins
        self._parts.append(lambda builder: builder.add_block(text, place, joined=joined, mark=mark))
        self.blocks += 1
        self._marker = ""
        self._joins = self._together > 0 or self._announces
        self._announces = False
        self._after_colon = text.endswith(":")

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        level, _, place = self._heading
        text = " ".join(self._lines.take().split())
        self._heading = None
        self._marker, self._joins, self._after_colon = "", False, False
        if not text:
            return
        if level == 1 and not self._base and text == (self.title or text):
            self.title = text
            self._parts.append(lambda builder: builder.add_title(text))
        else:
            self._add_heading(level, text, place or self._block_place)

    def _add_heading(self, level: int, text: str, place: str) -> None:
        self._first_heading = ""
        self._parts.append(lambda builder: builder.add_heading(level, text, place))

    # Tables

    def _free_cell(self) -> None:
        """The open cell holds more than a line: what stood in its row is a block, and what follows is text of its own."""
        table = self._tables[-1] if self._tables else None
        if table is None or table.free:
            return
        self._emit_row(table)
        if table.cell is None:
            return
        table.free = True
        self._together -= 1
        self._joins = self._together > 0
        self._marker = ""

    def _end_cell(self) -> None:
        table = self._tables[-1]
        if table.free:
            table.free = False
            self._together += 1
        elif table.cell:
            table.cells.append(" ".join(table.cell))
        table.cell = None
        self._marker = ""

    def _end_row(self) -> None:
        if self._tables:
            if self._tables[-1].cell is not None:
                self._end_cell()
            self._emit_row(self._tables[-1])

    def _emit_row(self, table: Table) -> None:
        cells = [*table.cells, " ".join(table.cell or ())]
        table.cells, table.cell = [], [] if table.cell is not None else None
        if text := table.between.join(cell for cell in cells if cell):
            self._marker = ""
            self._emit(text, table.place)

    # What is left out

    def _end_skipped(self) -> None:
        skipped, self._skipped = self._skipped, None
        if skipped is not None:
            if skipped.misleads:
                self.misleading.add(skipped.marks)
            self._leave_out(skipped.reason, skipped.text)

    def _leave_out(self, reason: str, text: str) -> None:
        self._parts.append(lambda builder: builder.leave_out(reason, text))

    def end_page(self) -> None:
        """The end of the page, whatever is still open."""
        if self._skipped:
            self._end_skipped()
        self._end_heading()
        self._code = 0
        self._break()
        while self._tables:
            self._end_row()
            self._tables.pop()


def _is_layout(attributes: Mapping[str, str]) -> bool:
    return attributes.get("role") in ("presentation", "none") or attributes.get("class") in (
        "memname",
        "mlabels",
        "fieldtable",
    )
