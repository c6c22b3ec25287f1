"""Finds tables of contents, indexes and links between pages that a page marks up as plain lists and paragraphs of links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from oreqa.corpus.builder import count_words
from oreqa.corpus.formats.html import rules

_LISTS, _APART = frozenset(("ul", "ol", "dl", "menu", "dir")), frozenset(("td", "th", "pre"))
_UNITS, _REPEATED = _LISTS | {"p"}, frozenset((*rules.HEADINGS, "dt", "p"))
"""What is judged as a unit, though not in cells and code, and elements whose text links of contents repeat."""

_MOST_BESIDE, _LONGEST_ENTRY, _FEWEST_LINKS, _FEWEST_ALONE, _SHARE = 0.1, 6, 3, 8, 0.8
"""The most words outside of links, relative to those in links, for contents, and per link for an index; the fewest links in
contents, and in contents recognized by links alone; and the share of links that must be of one kind."""

_PART = r"(?:chapter|appendix|part|section|question|§|kapitel|anhang|abschnitt|teil|chapitre|annexe|cap[íi]tulo|capitolo)"
_NUMBERED = re.compile(
    rf"\W*(?P<part>{_PART} )?"
    r"(?P<number>(?(part)(?:(?:\d{1,6}|(?-i:[A-Z]))(?:\.\d{1,6})*|(?-i:[IVXLC]+))\b|"
    r"(?:\d{1,6}|(?-i:[A-Z]))(?:\.\d{1,6})+))(?P<title>.*)",
    re.IGNORECASE | re.DOTALL,
)
_LEADING = re.compile(rf"\W*(?:{_PART} )?(?:(?:\d+|[a-z])(?:\.\d+)*[.:)]?\s+)?", re.IGNORECASE)
"""A section's number, with a word before it, and other text that may precede a title."""

_WORD = re.compile(r"\w+")
_INDEX = frozenset(("index", "índice", "indice", "register", "sachregister", "stichwortverzeichnis"))
"""Words in the heading of an index."""

_CONTENTS = frozenset(
    ("contents", "toc", "topics", "inhalt", "inhaltsverzeichnis", "sommaire", "matières", "contenido", "sommario")
)
"""Words in the heading of nested lists of links that are not otherwise recognized as contents."""

_BOOK_LINE = re.compile(
    r"(?:\W|\b(?:previous|prev|next|up|contents|table of contents|index|home|top|back|forward|first|last)\b)+", re.IGNORECASE
)
_FOREIGN = re.compile(r"[a-z][a-z\d+.-]*:|//", re.IGNORECASE)
"""The beginning of an address outside of this site."""

Size = tuple[int, int]
"""The number of parts and of blocks in a page so far."""


@dataclass(slots=True)
class LinkedText:
    """A list with everything in it, a paragraph, or a line of a page outside of them, with links within the page.

    It has its depth, the page's size at its beginning and end, its links, each a target and pieces of text, all its
    pieces of text and those outside of links, the terms it defines, and whether it is below the heading of an index or
    of contents.
    """

    depth: int
    is_list: bool
    first: Size
    last: Size = (0, 0)
    links: list[tuple[str, list[str]]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    unlinked: list[str] = field(default_factory=list)
    terms: set[str] = field(default_factory=set)
    in_index: bool = False
    in_contents: bool = False
    is_nested: bool = False
    has_heading: bool = False
    is_loose: bool = False

    @property
    def text(self) -> str:
        """Return all of its text."""
        return "".join(self.pieces)

    def reason(self, titles: Mapping[str, int]) -> str:
        """Return why it is not part of the page's text, "" if it is; ``titles`` counts the page's unnumbered titles."""
        if not self.links or self.has_heading:
            return ""
        if not self.is_list and len(_WORD.findall(self.text)) > 1 and _BOOK_LINE.fullmatch(self.text):
            return "navigation"
        links = [(target, "".join(pieces)) for target, pieces in self.links]
        numbers = [match for _, text in links if (match := _NUMBERED.match(text))]
        references = sum(not _WORD.search(match["title"]) for match in numbers)
        enough = _SHARE * len(links)
        words = sum(count_words(text) for _, text in links)
        unlinked_words = sum(not word.isdigit() for word in _WORD.findall("".join(self.unlinked)))
        if (
            self.in_index
            and references >= enough
            and len(links) >= _FEWEST_ALONE
            and unlinked_words <= _LONGEST_ENTRY * len(links)
        ):
            return "index"
        if len(links) < _FEWEST_LINKS or unlinked_words > _MOST_BESIDE * words:
            return ""
        repeated = sum(titles.get(title, 0) > (title in self.terms) for title in (_title(text) for _, text in links))
        local = sum(not _FOREIGN.match(target) for target, _ in links)
        is_of_sections = self.is_list and len(numbers) >= enough and _are_sections(numbers)
        if (repeated >= enough and (self.is_list or local >= enough)) or (local >= enough and is_of_sections):
            return "contents"
        return "contents" if self.in_contents and self.is_nested and _FEWEST_ALONE <= len(links) == local else ""


class LinkedTexts:
    """Collects a page's lists and paragraphs with links, and its titles.

    ``start``, ``data`` and ``end`` are called for visible content, with the number of open elements around an element
    and the size of the page so far.
    """

    def __init__(self) -> None:
        self._texts: list[LinkedText] = []
        self._open: LinkedText | None = None
        self._titles: Counter[str] = Counter()
        self._heading: set[str] = set()  # the words of the last heading
        self._title: tuple[int, list[str]] | None = None  # the depth of an open element that may repeat a link, and its text
        self._links = self._apart = 0  # open ones
        self._before: list[str] = []  # the text of an open line outside of lists and paragraphs

    def start(self, tag: str, attributes: Mapping[str, str], depth: int, size: Size) -> None:
        """Handle the start of an element."""
        self._apart += tag in _APART
        if tag in rules.BLOCKS:
            self._end_line(size)
        if self._open is None and not self._apart and tag == "a" and attributes.get("href", "").startswith("#"):
            self._open = LinkedText(depth, False, size, pieces=[*self._before], unlinked=self._before, is_loose=True)
        if self._open is None and not self._apart and tag in _UNITS:
            of = [not self._heading.isdisjoint(words) for words in (_INDEX, _CONTENTS)]
            self._open = LinkedText(depth, tag != "p", size, in_index=of[0], in_contents=of[1])
        elif self._open:
            self._open.is_nested = self._open.is_nested or tag in _LISTS
            self._open.has_heading = self._open.has_heading or tag in rules.HEADINGS
        if tag in _REPEATED and not (self._open and self._open.is_list and tag != "dt"):
            self._title = depth, []
        if tag == "a" and "href" in attributes:
            self._links += 1
            if self._open:
                self._open.links.append((attributes["href"], []))
        elif tag == "img":
            self.data(f" {attributes.get('alt', '')} ")
        elif tag in rules.BLOCKS or tag == "br":
            self.data(" ")

    def data(self, text: str) -> None:
        """Handle text of the page."""
        if self._title:
            self._title[1].append(text)
        if self._open:
            self._open.pieces.append(text)
            (self._open.links[-1][1] if self._links and self._open.links else self._open.unlinked).append(text)
        else:
            self._before.append(text)

    def end(self, tag: str, depth: int, size: Size) -> None:
        """Handle the end of an element."""
        self._apart = max(0, self._apart - (tag in _APART))  # the start of a cell inside a page's header was not seen
        self._links = max(0, self._links - (tag == "a"))
        if tag in rules.BLOCKS:
            self.data(" ")
        if self._title and self._title[0] == depth:
            title = _title("".join(self._title[1]))
            self._title = None
            if not (self._open and self._open.is_list):
                self._titles[title] += 1
            elif title not in self._open.terms:
                self._open.terms.add(title)
                self._titles[title] += 1
            if tag in rules.HEADINGS:
                self._heading = set(title.split())
        if tag in rules.BLOCKS:
            self._end_line(size)
        if self._open and self._open.depth == depth and not self._open.is_loose:
            self._open.last = size
            self._texts.append(self._open)
            self._open = None

    def _end_line(self, size: Size) -> None:
        """End what is open outside of lists and paragraphs."""
        self._before = []
        if self._open and self._open.is_loose:
            self._open.last = size
            self._texts.append(self._open)
            self._open = None

    def omitted(self, keep: Collection[str]) -> list[tuple[LinkedText, str]]:
        """Return what is not text, the last first, with the reason, except for reasons to ``keep``."""
        del self._titles[""]
        reasons = ((text, text.reason(self._titles)) for text in reversed(self._texts))
        return [(text, reason) for text, reason in reasons if reason and reason not in keep and text.first < text.last]


def _title(text: str) -> str:
    """Normalise a title for comparison: its words, without its number."""
    return " ".join(_WORD.findall(text[match.end() if (match := _LEADING.match(text)) else 0 :].casefold()))


def _are_sections(matches: Sequence[re.Match[str]]) -> bool:
    """Return whether dotted numbers continue like those of sections, unlike those of releases and standards."""
    dotted = [match["number"].split(".") for match in matches if "." in match["number"]]
    numbers = [[int(part) if part.isdigit() else ord(part) for part in parts] for parts in dotted]
    following = [_follows(*pair) for pair in pairwise([[], *numbers])]
    return not following or (following[0] and sum(following) >= _SHARE * len(following))


def _follows(before: Sequence[int], number: Sequence[int]) -> bool:
    """Return whether a section is the first of its chapter, or the next after one at the same or a deeper level."""
    last = len(number) - 1
    return number[last] == 1 or (last < len(before) and [*number] == [*before[:last], before[last] + 1])
