"""The basic types, frozen and typed, without behaviour beyond reading their own fields."""

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
    """A heading and the text under it: ``document.text[start:end]``, without the heading's own line."""

    start: int
    end: int
    heading: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where people find the text from ``start`` up to the next place in its file.

    ``name`` is "page 3", "slide 2", or "#anchor" in a web page. In text files, ``line`` is its first line, from 1, and
    ``source`` its offset in the decoded file with every line end counted as one character; both advance with the text.
    """

    start: int
    name: str = ""
    line: int | None = None
    source: int | None = None

    @property
    def mark(self) -> str:
        """Return the suffix of the file's name: ``:12``, ``, page 3``, ``#install``; empty without a name."""
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
partly. Its words cannot be counted: the count is 0."""


@dataclass(frozen=True, slots=True)
class PageWords:
    """Word counts of a page, or of a whole file without pages, to measure how completely it was read.

    ``source`` is counted in the file independently of the parser, ``read`` in the extracted text; ``left_out`` counts the
    words omitted on purpose, by reason.
    """

    page: str
    source: int
    read: int
    left_out: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The text of one document. ``key`` identifies it permanently: its path, with ``#row`` for rows of tables.

    Passages are made only from the sections; a document without sections is one section. ``places`` are in text order.
    ``layout`` has the packed positions of a PDF's text on its pages.

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
    layout: bytes = b""

    def __repr__(self) -> str:
        return f"Document({self.key!r}, {self.title!r}, {shown(self.text)!r})"


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
    the document's; ``places`` are those of its text, the first one at ``start``.
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
        """Return the place of the document's character ``offset`` in its file; None if the file has no places."""
        before = [place for place in self.places if place.start <= offset]
        return place_after(before[-1], self.text[before[-1].start - self.start : offset - self.start]) if before else None

    def address(self, offset: int) -> str:
        """Return the document's key with the place of its character ``offset``: ``notes.md:12``, ``paper.pdf, page 3``.

        Examples:
            >>> passage = Passage("notes.md", "", "", "Bees dance.", 0, 11, (), places=(Place(0, line=12),))
            >>> passage.address(5)
            'notes.md:12'
        """
        place = self.place(offset)
        return self.document_key + (place.mark if place else "")

    def __repr__(self) -> str:
        return f"Passage({self.address(self.start)!r}, {shown(self.text)!r})"


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved sentence in its passage, or a passage with its best sentence.

    ``scores`` has the search's scores by name; ``SCORE_MEANINGS`` explains them.
    """

    score: float
    passage: Passage
    sentence: Sentence
    passage_id: int
    sentence_id: int
    scores: Mapping[str, float]

    def __str__(self) -> str:
        return f"{self.score:.3f}  {shown(self.sentence.text)}\n  {self.passage.address(self.sentence.start)}"

    def __repr__(self) -> str:
        return f"Hit({self.score:.3f}, {shown(self.sentence.text)!r}, {self.passage.address(self.sentence.start)!r})"


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a passage that a reader considers an answer: ``text == passage_text[start:end]``.

    ``passage_number`` counts the passages read for the question, from 0; ``scores`` has the scores that ``score`` combines.
    """

    text: str
    start: int
    end: int
    passage_number: int
    score: float
    scores: Mapping[str, float]

    def __repr__(self) -> str:
        place = f"{self.start}, {self.end}, passage_number={self.passage_number}"
        return f"Span({shown(self.text)!r}, {place}, score={self.score:.3f})"


_SHOWN_CHARACTERS = 120


def shown(text: str) -> str:
    """Return a text on one line, truncated if it is long."""
    line = " ".join(text[: 2 * _SHOWN_CHARACTERS].split())
    cut = len(line) > _SHOWN_CHARACTERS or len(text) > 2 * _SHOWN_CHARACTERS
    return f"{line[:_SHOWN_CHARACTERS].rstrip()} ..." if cut else line
