"""The rows of a table in a document, which name their columns if the table has a header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from oreqa.corpus.builder import count_words
from oreqa.text.rows import CELL_GAP, record_text

MAX_NAME = 60
"""The longest name of a column, in characters."""


class Emit(Protocol):
    """Adds a row's text to a document.

    A row that names its columns, and the row after it, ``starts_paragraph``, apart from the previous row.

    ``words`` is the number of words of the text that are in the file.
    """

    def __call__(self, text: str, place: str, *, is_first: bool, starts_paragraph: bool, words: int) -> None: ...


class TableRows:
    """Emits the rows of one table. The header becomes a row only if no row below uses its names."""

    def __init__(self, emit: Emit, separator: str = CELL_GAP) -> None:
        self._emit = emit
        self._separator = separator
        self._header: Sequence[str] = ()
        # The header's text, place and words, until a row has its names.
        self._pending: tuple[str, str, int] | None = None
        self._is_first, self._after_record, self._has_spans = True, False, False

    def add(
        self,
        cells: Sequence[str],
        place: str = "",
        *,
        is_header: bool = False,
        texts: Sequence[str] | None = None,
        words: int | None = None,
    ) -> None:
        """Add the next row, including its empty cells, which keep the others under their columns' names.

        If cells span columns, ``cells`` repeats them and ``texts`` does not; the ``words`` of the row do not include
        those of cells that span into it from above.
        """
        filled = [cell for cell in (cells if texts is None else texts) if cell]
        text = self._separator.join(filled)
        if not text:
            return
        count = count_words(text) if words is None else words
        if is_header:
            self.end()
            self._header = cells if are_names(cells) and not self._has_spans else ()
        if is_header and self._header:
            self._pending = text, place, count
        elif len(filled) > 1 and (record := record_text(self._header, cells)):
            count += self._pending[2] if self._pending else 0
            self._pending = None
            self._emit_row(record, place, count, is_record=True)
        else:
            self.end()
            self._emit_row(text, place, count)

    def has_spans(self) -> None:
        """Note that a cell spans rows or columns, so that no cell can be assigned to a name."""
        self.end()
        self._header, self._has_spans = (), True

    def _emit_row(self, text: str, place: str, words: int, is_record: bool = False) -> None:
        self._emit(text, place, is_first=self._is_first, starts_paragraph=is_record or self._after_record, words=words)
        self._is_first, self._after_record = False, is_record

    def end(self) -> None:
        """Emit the rest of the table."""
        if self._pending:
            text, place, count = self._pending
            self._pending = None
            self._emit_row(text, place, count)


def are_names(cells: Sequence[str]) -> bool:
    """Return whether the cells of a header can name columns: two or more, all different."""
    return 1 < len(cells) == len(set(cells))


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a table of three or more columns names them.

    Its texts are distinct and short, and either have no digits while a row below does, or have letters while the rows below
    have none outside their first column. With two columns, the left one may as well name the right one.
    """
    first, below = (rows[0], rows[1:]) if rows else ((), ())
    if len(first) < 3 or not are_names(first) or not all(0 < len(name) <= MAX_NAME for name in first):
        return False
    if not any(map(_has_figure, first)):
        return any(_has_figure(cell) for row in below for cell in row)
    values = [cell for row in below for cell in row[1:] if cell]
    return all(map(_has_letter, first)) and bool(values) and not any(map(_has_letter, values))


def _has_figure(text: str) -> bool:
    return any(map(str.isdigit, text))


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
