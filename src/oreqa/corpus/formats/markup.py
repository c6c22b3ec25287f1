"""Web page markup for line-based formats: paragraphs, nested lists, headings, code and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LONGEST_LINE_WITH_MARKS = 4000
"""In a line of more characters, marks such as those for bold text are not parsed, which takes quadratic time."""


class LineMarkup:
    """Collects the parts of a page. Text is passed as markup, so that bold or struck-out parts can be marked."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._text: list[str] = []  # the lines of the open paragraph
        self._lists: list[tuple[str, str]] = []  # the tags and marks of open lists
        self._rows: list[list[tuple[str, tuple[int, int]]]] = []  # of the open table: its cells with their spans
        self._has_header = False
        self._after_term = False  # whether the last term has no explanation yet

    def page(self) -> str:
        """Return the whole page."""
        self.end_lists()
        return "".join(self._parts)

    @property
    def is_open(self) -> bool:
        """Return whether a paragraph is open."""
        return bool(self._text)

    @property
    def in_list(self) -> bool:
        """Return whether a list is open."""
        return bool(self._lists)

    def text(self, line: str) -> None:
        """Add a line to the paragraph."""
        self._end_table()
        self._text.append(line)

    def end_paragraph(self) -> None:
        """End the paragraph, or the table."""
        if text := "\n".join(self._text).strip():
            self._add(f"<p>{text}</p>")
        self._text.clear()
        self._end_table()

    def end_lists(self, depth: int = 0) -> None:
        """End the lists nested deeper than ``depth``."""
        self.end_paragraph()
        while len(self._lists) > depth:
            self._parts.append(f"</{self._lists.pop()[0]}>")

    def heading(self, level: int, text: str) -> None:
        """Add a heading of level 1 to 6."""
        self.end_lists()
        self._parts.append(f"<h{min(level, 6)}>{text}</h{min(level, 6)}>")

    def item(self, mark: str, text: str, *, tag: str = "ul", term: str = "", depth: int | None = None) -> None:
        """Begin an item of the list whose items have this ``mark``, nested in the open ones; ``dl`` for one with a ``term``.

        With a ``depth``, more deeply nested lists are ended first.
        """
        self.end_lists(len(self._lists) if depth is None else depth)
        marks = [other for _, other in self._lists]
        if mark in marks:
            self.end_lists(marks.index(mark) + 1)
        else:
            self._add(f"<{tag}>")
            self._lists.append((tag, mark))
        self._after_term = tag == "dl"
        self._parts.append(f"<dt>{term}</dt>" if tag == "dl" else "<li>")
        if text:
            self._text.append(text)

    def code(self, lines: Sequence[str]) -> None:
        """Add lines unchanged."""
        self.end_paragraph()
        self._add(f"<pre>\n{escape(chr(10).join(lines), quote=False)}</pre>")

    def caption(self, text: str) -> None:
        """Add the title of the following block."""
        self.end_paragraph()
        self._add(f"<p class=caption>{text}</p>")

    def row(self, cells: Sequence[str], spans: Sequence[tuple[int, int]] = ()) -> None:
        """Add a row to the table, beginning one if none is open. ``spans`` are the columns and rows of its cells."""
        if not self._rows:
            self.end_paragraph()
        self._rows.append(list(zip(cells, spans or [(1, 1)] * len(cells), strict=True)))

    def header(self) -> None:
        """Make the first row of the table its header."""
        self._has_header = len(self._rows) == 1 or self._has_header

    def _add(self, part: str) -> None:
        """Add a part, which explains the last term if nothing else does."""
        self._parts += ["<dd>", part] if self._after_term else [part]
        self._after_term = False

    def _end_table(self) -> None:
        if not self._rows:
            return
        self._add("<table>")
        for number, cells in enumerate(self._rows):
            tag = "th" if self._has_header and number == 0 else "td"
            shown = (f"<{tag}{_spanned(*span)}>{cell}</{tag}>" for cell, span in cells)
            self._parts.append(f"<tr>{''.join(shown)}</tr>")
        self._parts.append("</table>")
        self._rows, self._has_header = [], False


def _spanned(columns: int, rows: int) -> str:
    return "" if columns == rows == 1 else f" colspan={columns} rowspan={rows}"
