"""Answers from rows of tables: of the row that the reader chose, the cell whose column the question asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from oreqa.answer import Answer
from oreqa.corpus.splitter import passage_head
from oreqa.models.encoder.encoder import Encoder
from oreqa.text.columns import column_words, mentions_value, names_column
from oreqa.text.labels import labels
from oreqa.text.rows import row_cells
from oreqa.text.stop_words import WORD

READ = 0.1
"""What the cell that the reader chose is ahead of others, as a cosine of question and column."""

NAMED_RIGHT = 0.9
"""The least probability of a cell whose row and column the question names (docs/text-rules.md)."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of a row, with its place in the document, and whether the question names its column."""

    column: str
    value: str
    start: int
    end: int
    is_named: bool


def with_asked_cells(question: str, answers: Sequence[Answer], encoder: Encoder, *, calibrated: bool) -> list[Answer]:
    """Return the answers, those in rows that name their columns moved to the cell that the question asks for, each once.

    That is one whose column the question names, or else the cell with the highest cosine of question and column. The
    reader's choice stands if the question names its column, and is otherwise ahead by ``READ``. Cells whose value the
    question mentions tell which row is meant, and are no answers. If the question names both row and column, the first
    answer has the probability ``NAMED_RIGHT`` or more.
    """
    rows = [_open_cells(question, answer) for answer in answers]
    columns = list(dict.fromkeys(cell.column for row in rows for cell in row))
    if not columns:
        return list(answers)
    vectors = encoder.encode_document([" ".join(column_words(column)) or column for column in columns])
    cosines = dict(zip(columns, (vectors @ encoder.encode([question])[0]).tolist(), strict=True))
    moved: dict[tuple[str, int], Answer] = {}
    for place, (answer, row) in enumerate(zip(answers, rows, strict=True)):
        cell = _asked_cell(answer, row, cosines) if row else None
        in_cell = answer if cell is None else replace(answer, text=cell.value, start=cell.start, end=cell.end)
        if cell is not None and cell.is_named and place == 0 and calibrated and _names_row(question, answer):
            in_cell = replace(in_cell, confidence=max(NAMED_RIGHT, answer.confidence or 0.0))
        moved.setdefault((in_cell.passage.document_key, in_cell.start), in_cell)
    return list(moved.values())


def _open_cells(question: str, answer: Answer) -> list[_Cell]:
    """Return the cells of the row that an answer is in whose values the question does not mention."""
    text, begin = answer.passage.text, answer.passage.start
    cells = [
        _Cell(text[slice(*name)], text[slice(*value)], begin + value[0], begin + value[1], False)
        for name, value in row_cells(text, answer.start - begin)
    ]
    return [
        replace(cell, is_named=names_column(question, cell.column))
        for cell in cells
        if not mentions_value(question, cell.value)
    ]


def _asked_cell(answer: Answer, row: Sequence[_Cell], cosines: Mapping[str, float]) -> _Cell:
    def rank(cell: _Cell) -> tuple[bool, bool, float]:
        is_read = cell.start <= answer.start < cell.end
        return cell.is_named, cell.is_named and is_read, cosines[cell.column] + READ * is_read

    return max(row, key=rank)


def _names_row(question: str, answer: Answer) -> bool:
    """Return whether a question names something, and all that it names is in the row of an answer or above it."""
    named, passage = labels(question, []), answer.passage
    row = f"{passage_head(passage.title, passage.heading)} {answer.sentence.text}"
    return bool(named) and named <= {word.lower() for word in WORD.findall(row)}
