"""Answers that others replace: those of older versions of a document and of what a mail quotes; and contradictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime

from oreqa.answer import LIKELY, Answer
from oreqa.core import Passage
from oreqa.text.rows import row_cells

COMPARED_ANSWERS = 6
"""Answers to a question that are compared."""

MAX_OTHER = 0.2
"""The largest share of the words of like sentences, but for their answers, that only one of them holds."""

HEAD = 400
"""Characters at the beginning of a document that may say what it replaces, or its date."""

_WORD = re.compile(r"[^\s,;()\"“”]+")
_NUMBER = re.compile(r"\d+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-/.](\d\d)(?:[-/.](\d\d))?)?(?!\d)")
_DATED = ("date", "updated", "modified", "valid_from", "version")
_REPLACES = re.compile(r"\b(?:replac|supersed|obsolet)(?:es|ing)\b", re.IGNORECASE)
_REPLACED = re.compile(r"\b(?:replaced|superseded|obsoleted) by\b|\bno longer (?:valid|current)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:previous(?:ly)?|former(?:ly)?|earlier|old|older|originally|before|used to)\b", re.IGNORECASE)


def current_first(question: str, answers: Sequence[Answer]) -> list[Answer]:
    """The answers, of like sentences that of the newer version of a document first, and contradictions side by side.

    Answers are marked with the document that is ``newer``, or that they are ``contradicted_by``: a mail is newer than what
    it quotes. A question about the past, or that names the version, changes no order.
    """
    ordered = _written_before_quoted(question, answers)
    for place in range(len(ordered)):
        for behind in range(place + 1, len(ordered)):
            better, worse = ordered[place], ordered[behind]
            if not _are_like(better, worse):
                continue
            is_newer = _is_newer(better.passage, worse.passage)
            if is_newer is None:
                ordered[place] = replace(better, contradicted_by=worse.passage.document_key)
                ordered.insert(place + 1, replace(ordered.pop(behind), contradicted_by=better.passage.document_key))
            elif is_newer:
                ordered[behind] = replace(worse, newer=better.passage.document_key)
            else:
                ordered[place] = replace(better, newer=worse.passage.document_key)
                if not _asks_for(question, better.passage, worse.passage):
                    ordered.insert(place, ordered.pop(behind))
    return ordered


def _written_before_quoted(question: str, answers: Sequence[Answer]) -> list[Answer]:
    """The answers, a likely one that a mail's sender wrote before the first, if that is from a mail quoted there."""
    first = answers[0] if answers else None
    if first is None or not _is_quoted(first) or _PAST.search(question):
        return list(answers)
    key = first.passage.document_key
    written = next((a for a in answers if a.passage.document_key == key and not _is_quoted(a) and _is_likely(a)), None)
    if written is None:
        return list(answers)
    return [written, replace(first, newer=key), *(answer for answer in answers[1:] if answer is not written)]


def _is_quoted(answer: Answer) -> bool:
    """Whether an answer stands in what a mail quotes: in a line that begins with ">"."""
    text, start = answer.passage.text, answer.start - answer.passage.start
    return "from" in answer.passage.fields and text.startswith(">", text.rfind("\n", 0, start) + 1)


def _is_likely(answer: Answer) -> bool:
    """Whether an answer is likely, and none of the fields of a mail."""
    is_field = bool(row_cells(answer.passage.text, answer.start - answer.passage.start))
    return (answer.confidence or 0.0) >= LIKELY and not is_field


def likely_answers(answers: Sequence[Answer], threshold: float) -> tuple[Answer, ...]:
    """The answers whose confidence is ``threshold`` or more, and those of other documents that they are marked with."""
    likely = [answer for answer in answers if (answer.confidence or 0.0) >= threshold]
    marks = {
        key for answer in likely for key in (answer.newer, answer.contradicted_by) if key != answer.passage.document_key
    }
    return tuple(
        answer for answer in answers if answer in likely or (answer.passage.document_key in marks and not answer.newer)
    )


def _are_like(first: Answer, second: Answer) -> bool:
    """Whether the sentences of answers from two files say the same of something, but for other answers."""
    if _file(first.passage) == _file(second.passage):
        return False
    words = [_words(answer.sentence.text) for answer in (first, second)]
    differing = [set(words[0]) - set(words[1]), set(words[1]) - set(words[0])]
    answered = [set(_words(answer.text)) for answer in (first, second)]
    inside = [words & answer for words, answer in zip(differing, answered, strict=True)]
    outside = [word for words, answer in zip(differing, answered, strict=True) for word in words - answer]
    return all(inside) and not any(map(_is_label, outside)) and len(outside) <= MAX_OTHER * min(map(len, words))


def _is_label(word: str) -> bool:
    """Whether a word tells one thing from another: it has a figure or a capital inside the sentence."""
    return any(map(str.isdigit, word)) or word[:1].isupper()


def _words(text: str) -> list[str]:
    words = [word.rstrip(".:!?") for word in _WORD.findall(text)]
    return [words[0].lower(), *words[1:]] if words else []


def _file(passage: Passage) -> str:
    return passage.document_key.partition("#")[0]


def _is_newer(first: Passage, second: Passage) -> bool | None:
    """Whether the first of two documents is the newer version of the other; None if they are no versions of one."""
    heads = _head(first), _head(second)
    for pattern, is_first_newer in ((_REPLACES, True), (_REPLACED, False)):
        says = [bool(pattern.search(head)) for head in heads]
        if says[0] != says[1]:
            return says[0] == is_first_newer
    paths = _file(first), _file(second)
    is_path_alike = _NUMBER.sub("#", paths[0]) == _NUMBER.sub("#", paths[1])
    if not is_path_alike and not (first.title and _NUMBER.sub("", first.title) == _NUMBER.sub("", second.title)):
        return None
    orders = [
        *((_order(first.fields.get(name, "")), _order(second.fields.get(name, ""))) for name in _DATED),
        *([(_numbers(paths[0]), _numbers(paths[1]))] if is_path_alike else []),
        (_numbers(first.title), _numbers(second.title)),
        (_date(heads[0]), _date(heads[1])),
    ]
    return next((left > right for left, right in orders if left and right and left != right), None)


def _head(passage: Passage) -> str:
    return passage.text[: max(0, HEAD - passage.start)]


def _date(text: str) -> tuple[int, ...]:
    """The first date in a text; empty without."""
    match = _DATE.search(text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers in a path or title, a year first."""
    numbers = [int(number) for number in _NUMBER.findall(text)]
    years = [int(year) for year in _YEAR.findall(text)]
    return (*years[:1], *numbers)


def _order(field: str) -> tuple[int, ...]:
    """What orders a field that dates a document: a date as mails have it, else its numbers."""
    with suppress(Exception):  # the library can fail on a damaged date
        return tuple(parsedate_to_datetime(field).utctimetuple())
    return _numbers(field)


def _asks_for(question: str, older: Passage, newer: Passage) -> bool:
    """Whether a question is about the past, or holds a number that only the older version has in its name or head."""
    numbers = [{*_NUMBER.findall(f"{_file(passage)} {passage.title} {_head(passage)}")} for passage in (older, newer)]
    return bool(_PAST.search(question)) or bool({*_NUMBER.findall(question)} & (numbers[0] - numbers[1]))
