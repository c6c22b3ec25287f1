"""Converts marks to data for evaluation and training: a question list, pairs, or SQuAD paragraphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from oreqa.core import Passage
from oreqa.corpus.splitter import sentence_at
from oreqa.datasets.marks import Mark
from oreqa.datasets.pairs import Pair, pair_row, sentence_candidate
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad
from oreqa.errors import InputError
from oreqa.files import write_jsonl

MarkedKind = Literal["questions", "pairs", "squad"]
"""A list for ``oreqa eval openqa``, ``fit`` and ``adapt``, pairs for ``oreqa train retriever``, or a SQuAD file for
``oreqa train reader``."""

PlacedMark = tuple[Mark, Passage]
"""A mark with the index's passage that contains its answer."""


def place_marks(marks: Iterable[Mark], passages: Iterable[Passage]) -> list[PlacedMark]:
    """Return the marks with an answer whose passage is among these, unchanged, in the order of the marks."""
    answered = [mark for mark in marks if mark.answers]
    wanted = {(mark.document, mark.context) for mark in answered}
    places: dict[tuple[str | None, str], Passage] = {}
    for passage in passages:
        if (place := (passage.document_key, passage.text)) in wanted:
            places.setdefault(place, passage)
    placed = [(mark, places[mark.document, mark.context]) for mark in answered if (mark.document, mark.context) in places]
    return [(mark, passage) for mark, passage in placed if passage.text.startswith(mark.answers[0], mark.start)]


def marked_pair(mark: Mark, passage: Passage) -> Pair | None:
    """Return the question with the sentence in which its answer begins; None for a passage without sentences."""
    if not passage.sentences:
        return None
    return Pair(mark.question, sentence_candidate(passage, passage.sentences[sentence_at(passage, mark.start)]))


def need_marked_file(path: Path, kind: MarkedKind) -> None:
    """Raise InputError for a file name whose extension means another kind."""
    ending = ".json" if kind == "squad" else ".jsonl"
    if not path.name.removesuffix(".gz").endswith(ending):
        raise InputError(f"{path}: {kind} are read from a file that ends in {ending}; name it so")


def write_marked(path: Path, kind: MarkedKind, marks: Sequence[Mark], placed: Sequence[PlacedMark]) -> int:
    """Write marks as data of a ``kind``; return the number of rows.

    Questions are those of the ``placed`` marks and those that the documents do not answer; pairs and paragraphs need an
    answer. Raises InputError if the file cannot be written.
    """
    if kind == "questions":
        kept = {mark.id for mark, _ in placed}
        rows = [_question_row(mark) for mark in marks if mark.id in kept or not mark.answers]
        write_jsonl(path, rows)
        return len(rows)
    if kind == "pairs":
        pairs = [(mark, marked_pair(mark, passage)) for mark, passage in placed]
        rows = [{**pair_row(pair), "span": mark.answers[0]} for mark, pair in pairs if pair is not None]
        write_jsonl(path, rows)
        return len(rows)
    save_squad(path, _paragraphs(placed))
    return len(placed)


def _question_row(mark: Mark) -> dict[str, Any]:
    row: dict[str, Any] = {"id": mark.id, "question": mark.question, "answers": list(mark.answers)}
    return {**row, "document": mark.document} if mark.document else row


def _paragraphs(placed: Sequence[PlacedMark]) -> list[Paragraph]:
    """Return each marked passage once with its questions, grouped by title."""
    questions: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for mark, passage in placed:
        question = Question(mark.id, mark.question, tuple(Gold(answer, mark.start) for answer in mark.answers))
        questions[passage.title, passage.text].append(question)
    return [Paragraph(title, text, tuple(rows)) for (title, text), rows in sorted(questions.items())]
