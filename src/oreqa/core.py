"""The nouns. Frozen and typed, without behaviour beyond reading their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Range = tuple[int, int]
"""Start and end, end-exclusive, in characters unless said otherwise."""

Mode = Literal["hybrid", "dense", "sparse"]
"""The scores that rank: the encoder's and BM25's, the encoder's (``dense``), or BM25's (``sparse``)."""

Unit = Literal["passage", "sentence"]
"""The unit that is ranked."""

MODES: tuple[Mode, ...] = get_args(Mode)
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text under it: ``document.text[start:end]``, the heading's own line left out."""

    start: int
    end: int
    heading: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text from ``start`` on, up to the next place, stands in its file, as a person finds it there.

    ``name`` is "page 3", "slide 2", or "#anchor" of a web page. In text files ``line`` is the line where it begins, from 1,
    and ``source`` the character, counted in the decoded file with every line end as one; both advance with the text.
    """

    start: int
    name: str = ""
    line: int | None = None
    source: int | None = None

    @property
    def mark(self) -> str:
        """The place behind its file's name: ``:12``, ``, page 3``, ``#install``; empty if it has no name."""
        if self.name:
            return self.name if self.name.startswith("#") else f", {self.name}"
        return "" if self.line is None else f":{self.line}"


def place_after(place: Place, text: str) -> Place:
    """Return the place just after ``text``, which starts at ``place``."""
    return Place(
        place.start + len(text),
        place.name,
        None if place.line is None else place.line + text.count("\n"),
        None if place.source is None else place.source + len(text),
    )


MISSING = "missing"
"""The reason in ``PageWords.left_out`` for a page, chapter or sheet that the file lists but that could not be read, or only
in part. Its words cannot be counted: the count is 0."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """Word counts of a page, or of a whole file without pages, to measure how completely it was read.

    ``source`` is counted in the file independently of the parser, ``read`` in the extracted text; ``left_out`` counts the
    words that were skipped on purpose, by reason.
    """

    page: str
    source: int
    read: int
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One document's text as it was read. ``key`` names it for good: its path, with ``#row`` for rows of tables.

    Passages are cut from the sections alone; a document without any is one section. ``places`` are in the order of the text.

    Examples:
        >>> Document("tent", "Tent", "It weighs 2 kg.", fields={"category": "tents"})
        Document('tent', 'Tent', 'It weighs 2 kg.')
    """

    key: str
    title: str
    text: str
    sections: tuple[Section, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    pages: tuple[PageWords, ...] = ()

    def __repr__(self) -> str:
        return f"Document({self.key!r}, {self.title!r}, {_shown(self.text)!r})"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's text and its character offsets into the document: ``document.text[start:end] == text``."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of whole sentences of one document, small enough for an encoder.

    Offsets are characters of the document's text: ``document.text[start:end] == text``. ``document_key`` and ``fields`` are
    the document's, ``places`` those of its text, the first of them at ``start``.
    """

    document_key: str
    title: str
    heading: str
    text: str
    start: int
    end: int
    sentences: tuple[Sentence, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    places: tuple[Place, ...] = ()

    def place(self, offset: int) -> Place | None:
        """The place of the document's character ``offset`` in its file; None where the file has no places."""
        before = [place for place in self.places if place.start <= offset]
        return place_after(before[-1], self.text[before[-1].start - self.start : offset - self.start]) if before else None

    def address(self, offset: int) -> str:
        """The document's key with the place of its character ``offset``: ``notes.md:12``, ``paper.pdf, page 3``.

        Examples:
            >>> passage = Passage("notes.md", "", "", "Bees dance.", 0, 11, (), places=(Place(0, line=12),))
            >>> passage.address(5)
            'notes.md:12'
        """
        place = self.place(offset)
        return self.document_key + (place.mark if place else "")

    def __repr__(self) -> str:
        return f"Passage({self.address(self.start)!r}, {_shown(self.text)!r})"


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved sentence in its passage, or a passage with its best sentence.

    ``scores`` holds the scores of the search by their names; ``SCORE_MEANINGS`` explains them.
    """

    score: float
    passage: Passage
    sentence: Sentence
    passage_id: int
    sentence_id: int
    scores: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.score:.3f}  {_shown(self.sentence.text)}\n  {self.passage.address(self.sentence.start)}"

    def __repr__(self) -> str:
        return f"Hit({self.score:.3f}, {_shown(self.sentence.text)!r}, {self.passage.address(self.sentence.start)!r})"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a passage that a reader takes for an answer: ``text == passage_text[start:end]``.

    ``passage_number`` counts the passages that were read for the question, from 0; ``scores`` holds the scores that
    ``score`` is made of.
    """

    text: str
    start: int
    end: int
    passage_number: int
    score: float
    scores: Mapping[str, float]

    def __repr__(self) -> str:
        place = f"{self.start}, {self.end}, passage_number={self.passage_number}"
        return f"Span({_shown(self.text)!r}, {place}, score={self.score:.3f})"


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


SURE, LIKELY = 0.7, 0.4
"""The confidence from which an answer is sure, and from which it is likely; below, it is weak."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its evidence. ``confidence`` is the probability, in 0..1, that it answers the question; None where the
    models that found it are not calibrated.

    Offsets are characters of the document's text: ``document.text[start:end] == text``. ``scores`` holds those of the search
    and of the models, by names that ``SCORE_MEANINGS`` explains. ``block`` is what answers as a whole, sentence included;
    None where the reader does not know blocks. The ``form`` says whether the text or the block answers. Printed, it is
    text or block, how sure it is, the sentence and the place.

    Examples:
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
    form: Literal["text", "block"] = "text"

    def __str__(self) -> str:
        if self.form == "block" and self.block:
            return f"{self.block.text} ({self._sure()})\n  {self.passage.address(self.start)}"
        sentence = [] if self.text == self.sentence.text else [_shown(self.sentence.text)]
        lines = [f"{_shown(self.text)} ({self._sure()})", *sentence, self.passage.address(self.start)]
        return "\n  ".join(lines)

    def __repr__(self) -> str:
        place = self.passage.address(self.start)
        return f"Answer({_shown(self.text)!r}, {self._sure()}, {_shown(self.sentence.text)!r}, {place!r})"

    @property
    def certainty(self) -> str:
        """The confidence in a word: sure, likely or weak; "not calibrated" where there is none."""
        if self.confidence is None:
            return "not calibrated"
        return "sure" if self.confidence >= SURE else "likely" if self.confidence >= LIKELY else "weak"

    @property
    def percent(self) -> str:
        """The confidence as people read it, rounded down so that it does not contradict the word; empty without one."""
        return "" if self.confidence is None else f"{int(100 * self.confidence + 1e-9)}%"

    def _sure(self) -> str:
        return ", ".join(filter(None, (self.certainty, self.percent)))


_SHOWN_CHARACTERS = 120


def _shown(text: str) -> str:
    """A text on one line, its end left out if it is long."""
    line = " ".join(text[: 2 * _SHOWN_CHARACTERS].split())
    cut = len(line) > _SHOWN_CHARACTERS or len(text) > 2 * _SHOWN_CHARACTERS
    return f"{line[:_SHOWN_CHARACTERS].rstrip()} ..." if cut else line
