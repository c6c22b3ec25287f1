"""The nouns of answers and of what proves them, frozen and typed as those of ``core``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from oreqa.core import Passage, Sentence, shown


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of sentences, items or lines of a document: ``document.text[start:end] == text``.

    ``cut`` says that text between it and the piece before was left out.
    """

    text: str
    start: int
    end: int
    cut: bool = False


BlockKind = Literal["text", "list", "code", "table", "definition"]


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """What answers as a whole, in one section of a document: a list with its lead-in, code with what introduces it, rows
    with their header, a definition with its term, or a few sentences.

    ``probability`` is the mean probability of its tokens to belong to the answer, as the reader gives it.
    """

    pieces: tuple[Piece, ...]
    kind: BlockKind
    probability: float

    @property
    def text(self) -> str:
        """The pieces, with [...] where text between them was left out.

        Examples:
            >>> AnswerBlock((Piece("To stop:", 0, 8), Piece("2. Press Q.", 30, 41, cut=True)), "list", 0.6).text
            'To stop:\\n[...]\\n2. Press Q.'
        """
        return "\n".join(f"[...]\n{piece.text}" if piece.cut else piece.text for piece in self.pieces)


Operation = Literal["count", "highest", "lowest", "latest"]


@dataclass(frozen=True, slots=True)
class Computation:
    """How an answer was computed from the rows of a table, or the ``latest`` release from the headings of a change log, of
    which so many were ``looked_at``.

    The ``rows`` prove it, each a sentence in its passage: those that were counted, or that hold the highest or lowest value,
    or the heading of the latest release. ``column`` is the one that was compared, or whose different values were counted,
    if any; "version" of releases.
    """

    operation: Operation
    column: str
    rows: tuple[tuple[Passage, Sentence], ...]
    looked_at: int

    @property
    def basis(self) -> str:
        """What was looked at, in words.

        Examples:
            >>> Computation("highest", "age", (), 3).basis, Computation("latest", "version", (), 2).basis
            ('3 rows of a table', '2 headings of a change log')
        """
        unit, place = ("heading", "a change log") if self.operation == "latest" else ("row", "a table")
        return f"{self.looked_at:,} {unit}{'' if self.looked_at == 1 else 's'} of {place}"


SURE, LIKELY = 0.7, 0.4
"""The confidence from which an answer is sure, and from which it is likely; below, it is weak."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its evidence. ``confidence`` is the probability, in 0..1, that it answers the question; None where the
    models that found it are not calibrated.

    Offsets are characters of the document's text: ``document.text[start:end] == text``. ``scores`` holds those of the search
    and of the models, by names that ``SCORE_MEANINGS`` explains. ``block`` is what answers as a whole, sentence included;
    None where the reader does not know blocks. The ``form`` says whether the text or the block answers, or that the text was
    computed: ``computation`` says how, the sentence is a row that proves it, and of a count ``start`` and ``end`` are those
    of the first row. ``newer`` is the key of a newer version of the document that says otherwise, ``contradicted_by`` that
    of another document that does; empty without. ``set_by_you`` says that no model found it: a mark of the index has it as
    the corrected answer. Printed, it is text or block, how sure it is, the sentence and the place.

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

    def __str__(self) -> str:
        if self.form == "block" and self.block:
            return f"{self.block.text} ({self._sure()})\n  {self.passage.address(self.start)}"
        sentence = [] if self.text == self.sentence.text else [shown(self.sentence.text)]
        lines = [f"{shown(self.text)} ({self._sure()})", *sentence, self.passage.address(self.start)]
        return "\n  ".join(lines)

    def __repr__(self) -> str:
        place = self.passage.address(self.start)
        return f"Answer({shown(self.text)!r}, {self._sure()}, {shown(self.sentence.text)!r}, {place!r})"

    @property
    def certainty(self) -> str:
        """The confidence in a word: sure, likely or weak; "set by you", "computed" or "not calibrated" without one."""
        if self.set_by_you:
            return "set by you"
        if self.computation:
            return "computed"
        if self.confidence is None:
            return "not calibrated"
        return "sure" if self.confidence >= SURE else "likely" if self.confidence >= LIKELY else "weak"

    @property
    def percent(self) -> str:
        """The confidence as people read it, rounded down so that it does not contradict the word; empty without one."""
        return "" if self.confidence is None else f"{int(100 * self.confidence + 1e-9)}%"

    def _sure(self) -> str:
        return ", ".join(filter(None, (self.certainty, self.percent)))
