"""The labels in a question, such as a name, a day or a part number, and the lines of lists and tables with them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from oreqa.core import Range
from oreqa.text.lines import line_ends, unit_ends
from oreqa.text.rows import row_cells
from oreqa.text.stop_words import STOP_WORDS, WORD

_FIELD = re.compile(r"^[ \t]*(?P<name>[^\W\d_][\w /()-]{0,39}?)[ \t]*:[ \t]+(?P<value>\S.{0,99})$", re.MULTILINE)
"""A line that names the value it gives, as "Default: no"."""

_MARK = re.compile(r"[ \t]*(?:(?:[-*+•‣◦]|\d{1,3}(?:\.\d{1,3})*[.)])[ \t]+\S|\|)")
"""The mark of a list's item, and the bar of a table's row."""

_NUMBERED = re.compile(r"[-*•‣◦\s]*(?:Q\d*[.:)]|[A-Z]?\d+(?:\.\d+)*[a-z]?[.:)]|\d+(?:\.\d+)+)\s")
"""The number of a question in a list of questions, as "4.4." and "Q:"."""

SAME_WORDS = 0.6
"""The smallest share of a question's words in a sentence that asks the same."""

MIN_LEAD = 0.5
"""The lead, in nats, of the labels in a line over those in lines that it rules out."""


def labels(question: str, heads: Collection[str]) -> set[str]:
    """Return the words of a question that name one thing among others: with a digit or a capital, except its first word.

    A single digit or letter counts things or names a column. Words in the ``heads`` of the passages read, their titles and
    headings, do not distinguish lines.
    """
    named = [word for word in WORD.findall(question)[1:] if any(sign.isdigit() or sign.isupper() for sign in word)]
    names = {word.lower() for word in named if len(word) > 1 and (word.isupper() or word.lower() not in STOP_WORDS)}
    return names - _words(" ".join(heads))


def similar_lines(text: str) -> list[tuple[Range, Range]]:
    """Return the lines of lists and the rows of tables in a text, each with the lead-in of its list; (0, 0) if none.

    A lead-in is what stands before a list and ends in a colon or directly above its marks, and the item above its own list.
    """
    ends = set(line_ends(text))
    lines = list[tuple[Range, Range]]()
    lead, above = (0, 0), (0, 0)
    for begin, end in pairwise([0, *unit_ends(text), len(text)]):
        first = end - len(text[begin:end].lstrip())
        if first >= end:
            continue
        introduces = text[first:end].rstrip().endswith(":")
        listed = begin in ends or end in ends or bool(row_cells(text, first))
        is_marked = bool(_MARK.match(text, begin))
        if begin not in ends and not is_marked and (introduces or (listed and _MARK.match(text, end))):
            lead, above = (first, end), (0, 0)
        elif listed:
            above = above if _indentation(text, first) > _indentation(text, above[0]) else (0, 0)
            lines.append(((begin, end), above if above[1] else lead))
            above = (first, end) if introduces else above
        else:
            lead, above = (0, 0), (0, 0)
    return lines


def _indentation(text: str, place: int) -> int:
    return place - text.rfind("\n", 0, place)


def other_fields(question: str, text: str) -> list[Range]:
    """Return the fields of a text that a question does not ask for, if it names one.

    For "What is the default of it?", these are "Type: number" and the name in "Default: 5". A field is on a line of its own,
    next to another one.
    """
    lines = list(_FIELD.finditer(text))
    adjacent = {line for pair in pairwise(lines) if pair[0].end() + 1 == pair[1].start() for line in pair}
    question_words = {word.removesuffix("s") for word in _words(question)}
    named = {line for line in adjacent if {word.removesuffix("s") for word in _words(line["name"])} <= question_words}
    if not named:
        return []
    return [(line.start(), line.start("value") if line in named else line.end()) for line in lines if line in adjacent]


def ruled_out(named: Collection[str], lines: Sequence[str]) -> list[bool]:
    """Return whether each similar line is ruled out, because another one contains more of the question's ``named`` labels.

    A label weighs the logarithm of the number of lines per line that contains it: a label in all lines weighs nothing.
    """
    line_labels = [_words(line).intersection(named) for line in lines]
    weights = {label: math.log(max(1, len(lines)) / max(1, sum(label in line for line in line_labels))) for label in named}
    sums = [sum(weights[label] for label in line) for line in line_labels]
    most = max(sums, default=0.0)
    return [weight < most - MIN_LEAD for weight in sums]


def repeats_question(question: str, answer: str) -> bool:
    """Return whether an answer has words, all from the question, which does not offer a choice of answers."""
    question_words, answer_words = _words(question), _words(answer)
    return "or" not in question_words and bool(answer_words) and answer_words <= question_words


def asks_the_same(question: str, sentence: str) -> bool:
    """Return whether a sentence, but not a table's row, is a question with a number or most of another question's words.

    Examples:
        >>> asks_the_same("How do I paste text into nano?", "4.4. With what key can I paste text into nano?")
        True
    """
    if not sentence.rstrip("\"'”’»)] \t\r\n").endswith("?") or row_cells(sentence, 0):
        return False
    if _NUMBERED.match(sentence):
        return True
    question_words = _words(question) - STOP_WORDS
    return len(question_words & _words(sentence)) >= SAME_WORDS * len(question_words)


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))
