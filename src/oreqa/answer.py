"""Types of answers and their evidence, frozen and typed like those of ``core``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from oreqa.as_json import place_json, scores_json, stretch_json
from oreqa.core import Passage, Range, Sentence, shown
from oreqa.notebook import answer_html
from oreqa.visible import counted


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of sentences, items or lines of a document, or a span: ``document.text[start:end] == text``.

    ``cut`` says that text between it and the previous piece of a block was omitted.
    """

    text: str
    start: int
    end: int
    cut: bool = False


BlockKind = Literal["text", "list", "code", "table", "definition"]


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """The complete answer in one section of a document: a list with its lead-in, code with what introduces it, rows with
    their header, a definition with its term, or a few sentences.

    ``probability`` is the reader's mean probability that its tokens belong to the answer.
    """

    pieces: tuple[Piece, ...]
    kind: BlockKind
    probability: float

    @property
    def text(self) -> str:
        """Return the pieces, with [...] where text between them was omitted.

        Examples:
            >>> AnswerBlock((Piece("To stop:", 0, 8), Piece("2. Press Q.", 30, 41, cut=True)), "list", 0.6).text
            'To stop:\\n[...]\\n2. Press Q.'
        """
        return "\n".join(f"[...]\n{piece.text}" if piece.cut else piece.text for piece in self.pieces)

    def to_dict(self) -> dict[str, Any]:
        """Return the block as ``oreqa ask --json`` prints it; ``cut`` says that text was omitted before a piece."""
        pieces = [{"text": piece.text, "start": piece.start, "end": piece.end, "cut": piece.cut} for piece in self.pieces]
        return {"kind": self.kind, "probability": round(self.probability, 4), "pieces": pieces}


Operation = Literal["count", "highest", "lowest", "latest"]


@dataclass(frozen=True, slots=True)
class Computation:
    """How an answer was computed from ``looked_at`` rows of a table, or headings of a change log for the ``latest`` release.

    The ``rows`` prove it, each a sentence in its passage: those counted, or those with the highest or lowest value, or the
    heading of the latest release. ``column`` is the one that was compared, or whose distinct values were counted, if any;
    "version" for releases.
    """

    operation: Operation
    column: str
    rows: tuple[tuple[Passage, Sentence], ...]
    looked_at: int

    @property
    def basis(self) -> str:
        """Return in words what was looked at.

        Examples:
            >>> Computation("highest", "age", (), 3).basis, Computation("latest", "version", (), 2).basis
            ('3 rows of a table', '2 headings of a change log')
        """
        unit, place = ("heading", "a change log") if self.operation == "latest" else ("row", "a table")
        return f"{counted(self.looked_at, unit)} of {place}"

    def to_dict(self) -> dict[str, Any]:
        """Return the computation as ``oreqa ask --json`` prints it, with the rows that prove it."""
        return {
            "operation": self.operation,
            "column": self.column or None,
            "rows": [{**stretch_json(row), "document": passage.document_key} for passage, row in self.rows],
            "looked_at": self.looked_at,
        }


SURE, LIKELY = 0.7, 0.4
"""The confidence from which an answer is sure, and from which it is likely; below, it is weak."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its evidence. Printed, it shows text or block, its certainty, the sentence and the place.

    Attributes:
        text: The answer: ``document.text[start:end] == text``. If the question asks for several things, the likeliest of
            them or the list that contains them; ``whole_text`` names all.
        start: Offset in the document's text; for a count, that of the first row.
        end: Offset in the document's text, exclusive.
        confidence: The probability, in 0..1, that it answers the question; None if the models that found it are not
            calibrated.
        sentence: The sentence that proves it; for a computed answer, a row.
        passage: The passage of the sentence.
        score: The score that ranks it.
        scores: The scores of the search and the models, by names that ``SCORE_MEANINGS`` explains.
        block: The complete answer, including the sentence; None if the reader has no block head.
        form: Whether the text or the block is the answer, or the text was computed.
        computation: How it was computed, if it was.
        newer: The key of a newer version of the document that says otherwise; empty if there is none.
        contradicted_by: The key of another document that says otherwise; empty if there is none.
        set_by_you: Whether it comes from a mark of the index, not from a model.
        spans: All distinct answers, in the passage's order, if the question asks for several things; otherwise empty.

    Examples:
        >>> from oreqa import Passage, Place, Sentence
        >>> sentence = Sentence("An octopus has three hearts.", 0, 28)
        >>> passage = Passage("octopus.md", "Octopus", "", sentence.text, 0, 28, (sentence,), places=(Place(0, line=3),))
        >>> print(Answer("three", 15, 20, 0.934, sentence, passage, score=2.1, scores={}))
        three (sure, 93%)
          An octopus has three hearts.
          octopus.md:3
    """

    text: str
    start: int
    end: int
    confidence: float | None
    sentence: Sentence
    passage: Passage
    score: float
    scores: Mapping[str, float]
    block: AnswerBlock | None = None
    form: Literal["text", "block", "computed"] = "text"
    computation: Computation | None = None
    newer: str = ""
    contradicted_by: str = ""
    set_by_you: bool = False
    spans: tuple[Piece, ...] = ()

    def __str__(self) -> str:
        if self.form == "block" and self.block:
            return f"{self.block.text} ({self._sure()})\n  {self.passage.address(self.start)}"
        sentence = [] if self.text == self.sentence.text else [shown(self.sentence.text)]
        lines = [f"{shown(self.whole_text)} ({self._sure()})", *sentence, self.passage.address(self.start)]
        return "\n  ".join(lines)

    def __repr__(self) -> str:
        place = self.passage.address(self.start)
        return f"Answer({shown(self.whole_text)!r}, {self._sure()}, {shown(self.sentence.text)!r}, {place!r})"

    @property
    def whole_text(self) -> str:
        """The displayed answer: the texts of all spans separated by commas, or the text if there are none."""
        return ", ".join(span.text for span in self.spans) or self.text

    @property
    def marked(self) -> list[Range]:
        """The highlighted characters of the document: those of all spans, or of the text."""
        return [(span.start, span.end) for span in self.spans] or [(self.start, self.end)]

    @property
    def certainty(self) -> str:
        """The confidence as a word: sure, likely or weak; "set by you", "computed" or "not calibrated" if there is none."""
        if self.set_by_you:
            return "set by you"
        if self.computation:
            return "computed"
        if self.confidence is None:
            return "not calibrated"
        return "sure" if self.confidence >= SURE else "likely" if self.confidence >= LIKELY else "weak"

    @property
    def percent(self) -> str:
        """The confidence in percent, rounded down so that it does not contradict the word; empty if there is none."""
        return "" if self.confidence is None else f"{int(100 * self.confidence + 1e-9)}%"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as ``oreqa ask --json`` prints it, in types that ``json.dumps`` accepts.

        Examples:
            >>> from oreqa import Passage, Sentence
            >>> sentence = Sentence("An octopus has three hearts.", 0, 28)
            >>> passage = Passage("octopus.md", "Octopus", "", sentence.text, 0, 28, (sentence,))
            >>> row = Answer("three", 15, 20, 0.934, sentence, passage, score=2.1, scores={}).to_dict()
            >>> row["text"], row["confidence"], row["document"], row["sentence"]["text"]
            ('three', 0.934, 'octopus.md', 'An octopus has three hearts.')
        """
        return {
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "whole_text": self.whole_text,
            "spans": [{"text": span.text, "start": span.start, "end": span.end} for span in self.spans],
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "certainty": self.certainty,
            "score": round(self.score, 4),
            "document": self.passage.document_key,
            "title": self.passage.title,
            "heading": self.passage.heading,
            "place": place_json(self.passage, self.start, self.end),
            "sentence": stretch_json(self.sentence),
            "passage": stretch_json(self.passage),
            "form": self.form,
            "block": None if self.block is None else self.block.to_dict(),
            "computation": None if self.computation is None else self.computation.to_dict(),
            "newer": self.newer or None,
            "contradicted_by": self.contradicted_by or None,
            "fields": dict(self.passage.fields),
            "scores": scores_json(self.scores),
        }

    def _repr_html_(self) -> str:
        """The answer in a notebook: its sentence with the answer marked, its certainty, and its source."""
        sure = f"{self._sure()} from {self.computation.basis}" if self.computation else self._sure()
        notes = [f"older: {self.newer} says otherwise"] if self.newer else []
        notes += [f"contradicted by {self.contradicted_by}"] if self.contradicted_by else []
        return answer_html(self.to_dict(), sure, self.passage.address(self.start), notes)

    def _sure(self) -> str:
        return ", ".join(filter(None, (self.certainty, self.percent)))
