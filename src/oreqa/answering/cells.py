"""Answers from rows of tables: of the row that the reader chose, the cell whose column the question asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from oreqa.answer import Answer
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.models.encoder.encoder import Encoder
from oreqa.text.columns import column_words, mentions_value, names_column
from oreqa.text.labels import labels
from oreqa.text.rows import row_cells
from oreqa.text.stop_words import WORD

READ = 0.1
"""What the cell that the reader chose is ahead of others, as a cosine of question and column."""

MOST_COLUMNS = 50
"""Of a wider table no column is chosen by its cosine: their names would take too long to encode."""

MISSING_VALUES = frozenset(("", "-", "--", "–", "—", "?", "n/a", "na", "nan", "none", "null", "unknown"))
"""Values, in lower case, that say nothing."""

NAMED_RIGHT = 0.9
"""The least probability of a cell whose column and only row the question names (docs/text-rules.md)."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of a row, and its offsets in the passage."""

    column: str
    value: str
    start: int
    end: int


def with_asked_cells(
    question: str, answers: Sequence[Answer], passages: Sequence[Passage], encoder: Encoder, *, calibrated: bool
) -> list[Answer]:
    """Return the answers, those in rows of tables moved to the cell that the question asks for, each once.

    ``passages`` are those that were read. A passage is a row of a table if its document is one, or if another one has the
    same columns. The cell asked for is the one whose column the question names, or else that with the highest cosine of
    question and column. The reader's choice stands if the question names its column, and is otherwise ahead by ``READ``.
    Cells whose value the question mentions tell which row is meant, and are no answers, unless it offers a choice.

    If the question names the column and the only row, the first answer has the probability ``NAMED_RIGHT`` or more.
    """
    rows = [_row(passage) for passage in passages]
    tables = [tuple(cell.column for cell in row) for row in rows]
    moved: dict[tuple[str, int], Answer] = {}
    for place, answer in enumerate(answers):
        row, in_cell = _row(answer.passage), answer
        columns = tuple(cell.column for cell in row)
        if row and (tables.count(columns) > 1 or not answer.passage.fields.keys().isdisjoint(columns)):
            named = [cell.column for cell in row if names_column(question, cell.column)]
            cell = _asked_cell(question, answer, row, named, encoder)
            in_cell = _moved(answer, cell) if cell else answer
            if cell and cell.column in named and calibrated and not place and _is_only_row(question, cell, passages, rows):
                in_cell = replace(in_cell, confidence=max(NAMED_RIGHT, answer.confidence or 0.0))
        moved.setdefault((in_cell.passage.document_key, in_cell.start), in_cell)
    return list(moved.values())


def _row(passage: Passage) -> list[_Cell]:
    """Return the cells of a passage that is one row; none for others."""
    if "\n" in passage.text:
        return []
    return [
        _Cell(passage.text[slice(*name)], passage.text[slice(*value)], *value) for name, value in row_cells(passage.text, 0)
    ]


def _asked_cell(question: str, answer: Answer, row: Sequence[_Cell], named: Sequence[str], encoder: Encoder) -> _Cell | None:
    """Return the cell of a row that a question asks for, given the columns that it names; None if the answer is in none."""
    start = answer.start - answer.passage.start
    read = next((cell for cell in row if cell.start <= start < cell.end), None)
    cells = [cell for cell in row if not mentions_value(question, cell.value)]
    if (
        read is None
        or not cells
        or read.column in named
        or len(row) > MOST_COLUMNS
        or "or" in WORD.findall(question.lower())
    ):
        return read
    if candidates := [cell for cell in cells if cell.column in named]:
        return max(candidates, key=lambda cell: len(column_words(cell.column)))
    vectors = encoder.encode_document([" ".join(column_words(cell.column)) or cell.column for cell in cells])
    cosines = (vectors @ encoder.encode([question])[0]).tolist()
    return max(zip(cosines, cells, strict=True), key=lambda pair: pair[0] + READ * (pair[1] == read))[1]


def _moved(answer: Answer, cell: _Cell) -> Answer:
    """Return an answer with the text and place of a cell of its row."""
    passage = answer.passage
    start, end = passage.start + cell.start, passage.start + cell.end
    return replace(
        answer, text=cell.value, start=start, end=end, sentence=passage.sentences[sentence_at(passage, cell.start)]
    )


def _is_only_row(question: str, cell: _Cell, passages: Sequence[Passage], rows: Sequence[Sequence[_Cell]]) -> bool:
    """Return whether a question names something, and the rows read that have all of it agree on a value."""
    named = labels(question, [])
    values = set()
    for passage, row in zip(passages, rows, strict=True):
        words = WORD.findall(f"{passage_head(passage.title, passage.heading)} {passage.text}")
        if named <= {word.lower() for word in words}:
            values |= {other.value for other in row if other.column == cell.column}
    return bool(named) and values == {cell.value} and cell.value.lower() not in MISSING_VALUES
