"""The rows of a table in a document, which name their columns if the table has a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oreqa.corpus.builder import count_words
from oreqa.corpus.rows import record_text

MAX_NAME = 60
"""The longest name of a column, in characters."""


class Emit(Protocol):
    """Adds a row's text to a document; ``is_record`` if it names its columns. So many ``words`` of it are in the file."""

    def __call__(self, text: str, place: str, *, is_first: bool, is_record: bool, words: int) -> None: ...


class TableRows:
    """Emits the rows of one table. A header is emitted as a row of its own only where no row below takes its names."""

    def __init__(self, emit: Emit, separator: str = " | ") -> None:
        self._emit = emit
        self._separator = separator
        self._header: Sequence[str] = ()
        self._pending: tuple[str, str] | None = None  # the header's text and place, until a row has its names
        self._is_first = True

    def add(self, cells: Sequence[str], place: str = "", *, is_header: bool = False) -> None:
        """Add the next row, with its empty cells, so that the others stand under their columns' names."""
        text = self._separator.join(cell for cell in cells if cell)
        if not text:
            return
        if is_header and 1 < len(cells) == len(set(cells)):
            self.end()
            self._header, self._pending = cells, (text, place)
        elif record := record_text(self._header, cells):
            words = count_words(text) + (count_words(self._pending[0]) if self._pending else 0)
            self._pending = None
            self._emit_row(record, place, words, is_record=True)
        else:
            self.end()
            self._emit_row(text, place, count_words(text))

    def _emit_row(self, text: str, place: str, words: int, is_record: bool = False) -> None:
        self._emit(text, place, is_first=self._is_first, is_record=is_record, words=words)
        self._is_first = False

    def end(self) -> None:
        """Emit what is left of the table."""
        if self._pending:
            text, place = self._pending
            self._pending = None
            self._emit_row(text, place, count_words(text))


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of a table of three columns or more names them: distinct short texts without figures.

    Of two columns, the left one may as well name what stands at its right.
    """
    first = rows[0] if len(rows) > 1 else ()
    return len(set(first)) == len(first) > 2 and all(
        0 < len(name) <= MAX_NAME and not any(map(str.isdigit, name)) for name in first
    )
