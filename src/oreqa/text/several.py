"""Questions that ask for several things, how many they ask for, and the items of an enumeration in a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from oreqa.core import Range

_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBER = rf"(?:{'|'.join(_NUMBERS)}|[2-9]|10)"

_NO_NOUN = (
    "was|is|does|has|this|its|his|always|perhaps|less|across|as|plus|makes|takes|goes|comes|gives|happens|belongs|becomes"
    "|means|says|tells|wins|dies|keeps|lets|allows|brings|stops|starts|provides|contains|includes|describes|determines"
    "|series|news|gas|bus|bias|alias|canvas|lens"
)
"""Words that end like plurals but are none."""

_PLURAL = rf"(?!(?:{_NO_NOUN})\b)(?:[\w-]{{2,}}(?<![sui])s|people|men|women|children|criteria|indices)\b(?!')"
_REQUESTED_NUMBER = re.compile(
    r"\b(?:which|what|who|whose|where|name|list|names of)(?: (?:are|were))?(?: all)?(?: (?:the|its|their|his|her|my))?"
    rf"(?: (?:first|last|other|main))? ({_NUMBER}) (?!of\b|or\b|percent\b)(?:[\w'-]+ ){{0,3}}?{_PLURAL}",
    re.IGNORECASE,
)
_VERB = r"(?:is|was|do|does|did|has|have|had|can|could|would|should)\b"
_NO_OBJECT = r"(?! (?:the|a|an|is|has|it|its|his|her|their|my|your|up|out)\b)"
SINGLE_OF = r"(?!\s(?:[\w-]+\s)?(?!(?:kind|type|sort|class|set|list)\b)[\w-]+(?<!s)\sof\b)"
"""No noun that stands for one thing follows, as the version in "which version of gnutls"."""

_TOOLS = "option|command|flag|switch|parameter|setting|key|function|program|tool|utility|script|directive|method|variable"
_SINGLE_TOOL = rf"(?!\s(?:[\w-]+\s)?(?:{_TOOLS})\s\w+s\b(?!.*\b(?:are|were|do|did|can|could|have|had|should|would|exist)\b))"
"""No "which option removes": the word on s after a tool is a verb if no further verb follows."""

_SEVERAL = re.compile(
    rf"\b(?:which|what){SINGLE_OF}{_SINGLE_TOOL}(?: (?!{_VERB})[\w'-]+){{0,2}} (?!{_VERB}){_PLURAL}{_NO_OBJECT}"
    r"|\b(?:who|what|which) (?:all|are|were)\b|\b(?:which|what) of the .{1,40} (?:are|were|have|do|did)\b"
    rf"|\bnames of (?:the |all )?(?:[\w'-]+ ){{0,2}}?{_PLURAL}"
    rf"|^\W*(?:please )?(?:name|list)\b(?: (?!(?:of|in|for|that|which|who|where)\b)[\w'-]+){{0,3}}? {_PLURAL}"
    r"|^\W*(?:please )?list\b(?! of\b)",
    re.IGNORECASE,
)
_SINGLE = re.compile(
    r"\b(?:called|named|known as|referred to as|stand for|made of|made up of|or|(?:which|what|one) of the two)\b"
    r"|^\W*(?:\w+ )?how (?:many|much|long|old|far|often)\b",
    re.IGNORECASE,
)
"""Questions for a name, an amount or one of two."""

_ON = r"(?:(?:and|or)\s+)?(?:older|newer|later|earlier|above|below|up|higher|lower|over|under|more|less)\s*(?:$|[,;.)])"
_BETWEEN = re.compile(
    r"\([^()]*\)|(?P<gap>(?:[,;](?!(?<=\d,) \d{4}\b)(?:\s+(?:and|or|&|as well as))?|\s+(?:and|or|&|as well as))\s+"
    rf"(?!{_ON}))"
)
"""Separators of items, and brackets, which contain none; the comma of a date is none, nor is the "and" of "10 and older"."""

_TAIL = re.compile(
    r",\s+(?:in|on|at|since|from|until|during|after|before|by|for|with|when|while|where|which|who|all|both|each)\b"
)
"""What follows the last item of an enumeration and belongs to all of it: "Ada, Alan and Grace, in 1950"."""

_LIST_MARK = re.compile(r"\s*[-*•‣◦–]\s+(?=\S)")
"""The mark of an item in a list with one item per line."""

_QUOTES = " \t\n\"'`‘’‚“”„«»"


def requested_number(question: str) -> int | None:
    """Return how many things a question asks for, up to ten; None if it does not say.

    Examples:
        >>> requested_number("Which three protocols are supported?"), requested_number("Who of the two men won?")
        (3, None)
    """
    match = _REQUESTED_NUMBER.search(question)
    return None if match is None or _SINGLE.search(question) else _NUMBERS.get(match[1].lower()) or int(match[1])


def asks_for_several(question: str) -> bool:
    """Return whether a question asks for several things, by a number or a plural.

    Examples:
        >>> asks_for_several("Who were the founders?"), asks_for_several("Which port does it use?")
        (True, False)
        >>> asks_for_several("Which ports does it use?"), asks_for_several("What makes it fail?")
        (True, False)
    """
    if _SINGLE.search(question):
        return False
    return bool(_REQUESTED_NUMBER.search(question) or _SEVERAL.search(question))


def listed_items(text: str) -> list[Range]:
    """Return the ranges of the items that a text lists with commas, semicolons, "and" and "or"; the whole text if none.

    Examples:
        >>> text = "TLS, SSH and QUIC"
        >>> [text[start:end] for start, end in listed_items(text)]
        ['TLS', 'SSH', 'QUIC']
        >>> text = "Bonn, Germany and Nice, France"
        >>> [text[start:end] for start, end in listed_items(text)]
        ['Bonn, Germany', 'Nice, France']
        >>> text = "Ada, Alan and Grace, in 1950"
        >>> [text[start:end] for start, end in listed_items(text)]
        ['Ada', 'Alan', 'Grace']
    """
    tails = [match.start() for match in _TAIL.finditer(text)]
    last = max((match.start() for match in _gaps(text) if match["gap"].strip() != ","), default=len(text))
    if len(tails) == 1 and tails[0] > last:  # several such parts belong to one item each
        text = text[: tails[0]]
    gaps = [match.span() for match in _between_items(text)]
    places = [0, *(place for gap in gaps for place in gap), len(text)]
    ranges = [_without_quotes(text, *item) for item in zip(places[::2], places[1::2], strict=True)] if gaps else []
    items = [(start, end) for start, end in ranges if start < end] or [(0, len(text))]
    return [(mark.end() if (mark := _LIST_MARK.match(text, *item)) else item[0], item[1]) for item in items]


def is_list_mark(text: str, start: int, end: int) -> bool:
    """Return whether ``text[start:end]`` is the mark of an item at the beginning of a line."""
    line = text.rfind("\n", 0, start) + 1
    mark = _LIST_MARK.match(text, line)
    return mark is not None and end <= mark.end() and text[start:end].strip() == mark.group().strip()


def _between_items(text: str) -> Iterator[re.Match[str]]:
    """Yield the separators between the items of a text.

    If commas follow the last conjunction, each item has as many inside: "Bonn, Germany and Nice, France" are two.
    """
    gaps = _gaps(text)
    conjunctions = [number for number, match in enumerate(gaps) if match["gap"].strip() != ","]
    ends = [-1, *conjunctions, len(gaps)]
    parts = len(gaps) - ends[-2] if conjunctions else 1
    if any((end - start) % parts for start, end in pairwise(ends)):
        parts = 1
    for start, end in pairwise(ends):
        yield from gaps[start + parts : end : parts]
        yield from gaps[end : end + 1]


def _gaps(text: str) -> list[re.Match[str]]:
    return [match for match in _BETWEEN.finditer(text) if match["gap"]]


def _without_quotes(text: str, start: int, end: int) -> Range:
    """Return a range without surrounding blanks and quotation marks: the reader's span may include one of a pair."""
    item = text[start:end]
    return start + len(item) - len(item.lstrip(_QUOTES)), start + len(item.rstrip(_QUOTES))
