"""Tables of questions and of pairs: CSV, TSV and Excel workbooks, as rows like those of JSON lines.

The first line names the columns if one of its cells is a name of ``question``. Otherwise the first column contains
questions, and the second, if there is one, answers.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from oreqa.corpus.decode import decode
from oreqa.corpus.formats.rows import numbered_rows
from oreqa.errors import DocumentError, InputError
from oreqa.files import byte_lines
from oreqa.visible import counted

COLUMN_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "questions", "query", "anchor"),
    "answers": ("answers", "answer", "expected"),
    "passage": ("passage", "context", "positive"),
    "negative": ("negative",),
}
"""Columns with several accepted names."""

_OTHERS = ("id", "pattern", "document", "collection", "kind", "title")
_TRANSLATED = {
    "question": ("frage", "fragen", "pregunta", "domanda", "pergunta", "vraag"),
    "answers": ("antwort", "antworten", "réponse", "respuesta", "risposta", "resposta", "antwoord"),
}
"""Their names in German, French, Spanish, Italian, Portuguese and Dutch, for tables in these languages."""

_COLUMNS = {name: name for name in _OTHERS} | {
    name: column for names_of in (COLUMN_NAMES, _TRANSLATED) for column, names in names_of.items() for name in names
}

_WITHOUT_COMMA = re.compile(r"""['"]\s+['"]""")  # how numpy prints arrays


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return _suffix(path) in (".csv", ".tsv", ".xlsx")


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def table_columns(path: Path) -> list[str]:
    """Return the columns named by the first row of a table, e.g. ``question`` and ``answers``. Raises InputError."""
    for _, where, row in _rows(path):
        return _named(row, where) or ["question", "answers"][: len(row)]
    return []


def table_questions(path: Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the rows of a question list with their numbers and places.

    A row has ``question``, ``answers`` as a list if there is such a column, and the other columns if not empty. An empty
    cell of answers is an empty list; several answers in a cell are separated by ``|``, or form a JSON or Python list.
    Raises InputError naming the line, or the row of a workbook.
    """
    for number, where, cells in table_rows(path):
        row: dict[str, Any] = {name: text for name, text in cells.items() if text and name not in ("answers", "negative")}
        if "answers" in cells:
            row["answers"] = _answers(cells["answers"], where)
        yield number, where, row


def table_rows(path: Path) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield the number and the place of each row after the header, with its cells by column.

    Raises InputError for a table without questions, and for a row with more or fewer cells than columns.
    """
    columns: list[str] = []
    for number, where, row in _rows(path):
        if not columns:
            columns = _named(row, where)
            if columns:
                continue
            if len(row) > 2:
                raise InputError(f"{where}: none of its {len(row)} columns is named question; name them in the first line")
            columns = ["question", "answers"][: len(row)]
        if _suffix(path) == ".xlsx":
            row.extend([""] * (len(columns) - len(row)))  # empty cells at the end are not stored
        while len(row) > len(columns) and not row[-1]:
            row.pop()
        if len(row) > len(columns):
            raise InputError(
                f"{where}: it has {len(row)} cells in {counted(len(columns), 'column')}; quote those that hold the delimiter"
            )
        if len(row) < len(columns):
            raise InputError(f"{where}: it has {len(row)} of {len(columns)} cells; leave a cell empty, but not out")
        cells: dict[str, str] = {}
        for column, text in zip(columns, row, strict=True):
            cells.setdefault(column, text)
        if not cells["question"]:
            raise InputError(f"{where}: its question is empty")
        yield number, where, cells


def _rows(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number and the place of each non-empty row, with its cells stripped."""
    name, unit = path.name.lower().removesuffix(".gz"), "line"
    data = b"".join(byte_lines(path))
    rows: Iterator[tuple[int, list[str]]]
    try:
        if _suffix(path) == ".xlsx":
            from oreqa.corpus.formats.office.xlsx import first_sheet

            rows, unit = iter(first_sheet(data, path)), "row"
        else:
            rows = iter(list(numbered_rows(io.StringIO(_text(data)), name)))  # reports an open quote before what it swallows
        for number, row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield number, f"{path}, {unit} {number}", cells
    except DocumentError as error:
        raise InputError(f"{path}: {error}") from error


def _text(data: bytes) -> str:
    try:
        return decode(data)
    except DocumentError:
        raise DocumentError("it is not text; save the table as CSV in UTF-8, or as .xlsx") from None


def _named(row: list[str], where: str) -> list[str]:
    """Return the columns if the first row names them, keeping unknown names; none if it has no name of ``question``."""
    columns = [_COLUMNS.get(cell.casefold(), cell) for cell in row]
    while columns and not columns[-1]:
        columns.pop()
    if "question" not in columns:
        return []
    for column in COLUMN_NAMES:
        if columns.count(column) > 1:
            same = [cell for cell in row if _COLUMNS.get(cell.casefold()) == column]
            raise InputError(f"{where}: its columns {' and '.join(same)} mean the same; rename all but one")
    return columns


def _answers(cell: str, where: str) -> list[str]:
    if cell.startswith("[") and cell.endswith("]"):
        if _WITHOUT_COMMA.search(cell):
            raise InputError(f'{where}: its list of answers has no commas; write it as ["one", "two"], or as one|two')
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            value = ast.literal_eval(cell)
            if isinstance(value, list) and all(isinstance(answer, str) for answer in value):
                return value
    return [answer for part in cell.split("|") if (answer := part.strip())]
