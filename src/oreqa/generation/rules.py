"""Spans likely to be asked about, found by rules: dates, numbers, names, quoted titles, and runs of content words.

The patterns are for English. Each takes linear time: unlimited repetitions never backtrack.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from oreqa.core import Range
from oreqa.text.stop_words import STOP_WORDS

LONGEST_SPAN = 100
"""Longest span, in characters."""

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY_NUMBER, _MONTH_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
_ERA = r"(?:\s(?:BCE?|CE|AD|B\.C\.|A\.D\.))"
_YEAR = r"(?:1\d{3}|20\d{2})"
_ORDINAL = (
    r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|twenty-first)"
)
_DATE = regex.compile(
    rf"(?<![\w$€£¥.,/-])(?:{_YEAR}-\d{{2}}-\d{{2}}|{_DAY_NUMBER}\.{_MONTH_NUMBER}\.{_YEAR}"
    rf"|(?:{_DAY_NUMBER}/{_MONTH_NUMBER}|{_MONTH_NUMBER}/{_DAY_NUMBER})/(?:\d{{4}}|\d{{2}})"
    rf"|{_DAY}\s(?:of\s)?{_MONTH}(?:,?\s\d{{3,4}})?{_ERA}?"
    rf"|{_MONTH}\s{_DAY}(?!\d)(?:,?\s\d{{3,4}}(?!\d))?"
    rf"|{_MONTH},?\s(?:of\s)?\d{{4}}"
    rf"|(?:(?:early|mid|late)[-\s])?{_ORDINAL}[-\s](?:century|centuries|millennium){_ERA}?"
    rf"|(?:(?:early|mid|late)[-\s])?{_YEAR}s"
    rf"|{_YEAR}\s?[–—-]\s?(?:{_YEAR}|\d{{2}})(?!\d)"
    rf"|\d{{1,4}}{_ERA}"
    rf"|AD\s\d{{1,4}}"
    rf"|{_YEAR}"
    r")(?![\w%]|[.,/-]\d)"
)

_SCALE = r"(?:hundred|thousand|million|billion|trillion)"
_FIGURE = r"(?:\d++(?:[.,]\d++)*+)"
_UNITS = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_WORD_NUMBER = (
    rf"(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[-\s]{_UNITS})?"
    rf"|{_UNITS}|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
)
_NUMBER = regex.compile(
    rf"(?<![\w.,-])(?:(?:US|A|C|NZ|HK)?[$€£¥]\s?{_FIGURE}(?:\s{_SCALE})?"
    rf"|{_FIGURE}(?:\s?[%‰°](?:[CF]\b)?|\s(?:per\scent|percent|percentage)\b|(?:st|nd|rd|th)\b|\s{_SCALE}\b)?"
    rf"|{_WORD_NUMBER}(?:\s{_SCALE}\b)?(?:\s(?:per\scent|percent)\b)?"
    r")(?!\w)",
    regex.IGNORECASE,
)
_UNIT = regex.compile(r"[\s-]\p{Ll}[\p{L}/²³]++(?:\s(?:per|an?)\s\p{Ll}++)?")

_JOINT = (
    r"(?:\s(?:of|de|la|le|du|des|van|von|der|den|del|di|da|dos|al|el|bin|ibn|for|&|of\sthe|de\sla|in\sthe|on\sthe|the)\s)"
)
_CAPITALISED = r"(?:\p{Lu}[\p{L}\p{M}\p{Nd}]*+(?:['’&/-]\p{L}[\p{L}\p{M}\p{Nd}]*+|(?<=\b\p{Lu})\.(?:\p{Lu}\.)*+)*+)"
_NAME = regex.compile(
    rf"(?<![\p{{L}}\p{{M}}\p{{Nd}}'’.-]){_CAPITALISED}(?:(?:\s|{_JOINT}){_CAPITALISED}){{0,9}}"
    r"(?:\s\p{Nd}{1,4}(?![\w%]|[.,]\p{Nd}))?"
)
_QUOTED = regex.compile(r"“([^“”\n]{2,80})”|\"([^\"\n]{2,80})\"|«([^«»\n]{2,80})»|‘([^‘’\n]{2,60})’(?!\w)")
_WORD = regex.compile(r"[\p{L}\p{M}\p{Nd}]++(?:['’-][\p{L}\p{M}\p{Nd}]++)*+")

_DETERMINERS = ("the", "a", "an", "his", "her", "its", "their", "this", "these", "my", "our", "your")
_PREPOSITIONS = ("of", "in", "for", "to", "by", "with", "and", "or", "from", "as", "on", "at")

_SHARES = {
    "date": (18, 14, 22, 22),
    "number": (12, 19, 19, 19),
    "quoted": (13, 19, 18, 12),
    "name": (7, 13, 15, 11),
    "quantity": (5, 4, 8, 5),
    "phrase": (2, 2.8, 2.4, 1),
}
"""How many of 100 spans of a kind were asked about, for spans of one, two, three and more words: measured on the training
articles of the SQuAD files that the shipped models were trained on."""


@dataclass(frozen=True, slots=True)
class RuleSpan:
    """A span ``text[start:end]`` that a rule found.

    ``kind`` is date, number, quantity (a number with its unit or what is counted), name, quoted or phrase. ``score`` is the
    logarithm of the share of such spans that people ask about.
    """

    start: int
    end: int
    kind: str
    score: float


def rule_spans(text: str) -> list[RuleSpan]:
    """Return the spans of a text found by rules, likeliest first, ties in text order. They may overlap."""
    kinds = (("quoted", _quoted), ("date", _dates), ("number", _numbers), ("quantity", _quantities), ("name", _names))
    spans = []
    for kind, find in (*kinds, ("phrase", _phrases)):
        for start, end in find(text):
            if start < end <= start + LONGEST_SPAN:
                words = len(text[start:end].split())
                spans.append(RuleSpan(start, end, kind, math.log(_SHARES[kind][min(max(words, 1), 4) - 1] / 100)))
    return sorted(spans, key=lambda span: -span.score)


def _quoted(text: str) -> Iterator[Range]:
    for match in _QUOTED.finditer(text):
        start, end = next(match.span(group) for group in range(1, 5) if match.group(group))
        content = text[start:end]
        yield start + len(content) - len(content.lstrip()), start + len(content.rstrip(" ,.;:"))


def _dates(text: str) -> Iterator[Range]:
    return (match.span() for match in _DATE.finditer(text))


def _numbers(text: str) -> Iterator[Range]:
    """Yield numbers that are not part of a date."""
    in_date = bytearray(len(text))
    for start, end in _dates(text):
        in_date[start:end] = b"\1" * (end - start)
    return (match.span() for match in _NUMBER.finditer(text) if not in_date[match.start()])


def _quantities(text: str) -> Iterator[Range]:
    for start, end in _numbers(text):
        unit = _UNIT.match(text, end)
        if unit and unit.group()[1:].split()[0] not in STOP_WORDS:
            yield start, unit.end()


def _names(text: str) -> Iterator[Range]:
    """Yield capitalised runs; at the beginning of a sentence, from the first word on that is no function word.

    A single first word of a sentence is a name unless the text also has it in lower case.
    """
    lower = {match.group() for match in _WORD.finditer(text) if match.group()[0].islower()}
    for match in _NAME.finditer(text):
        start, end = match.span()
        first = _begins_sentence(text, start)
        while first and (word := _WORD.match(text, start, end)) and word.group().lower() in STOP_WORDS:
            start = word.end()
            while start < end and not text[start].isalnum():
                start += 1
        name = text[start:end].lower()
        if len(name) > 1 and name not in STOP_WORDS and not (first and start == match.start() and name in lower):
            yield start, end


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \"'“‘(")
    return start == 0 or not before or before[-1] in ".!?:\n"


def _phrases(text: str) -> Iterator[Range]:
    """Yield runs of up to four lower-case content words, which may be noun phrases.

    Runs that end like a verb or an adverb are dropped, and so are single words with neither a determiner nor a preposition
    before them: half as many of them are asked about.
    """
    run: list[regex.Match[str]] = []
    before = ""
    for match in itertools.chain(_WORD.finditer(text), [None]):
        content = match is not None and match.group()[0].islower() and match.group() not in STOP_WORDS
        joined = bool(match and run and text[run[-1].end() : match.start()] == " ")
        if run and not (content and joined):
            introduced = len(run) > 1 or before in _DETERMINERS + _PREPOSITIONS
            if len(run) <= 4 and introduced and not run[-1].group().endswith(("ed", "ly")):
                yield run[0].start(), run[-1].end()
            before, run = run[-1].group(), []
        if match and content:
            run.append(match)
        elif match:
            before = match.group().lower()
