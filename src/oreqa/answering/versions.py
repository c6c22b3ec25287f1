"""Ranks answers of newer versions of a document and of a mail's own text first, and shows contradictions together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from oreqa.answer import LIKELY, Answer
from oreqa.core import Passage
from oreqa.text.dates import first_date, without_dates
from oreqa.text.releases import NO_NAME, VersionOrder, version_order
from oreqa.text.rows import row_cells
from oreqa.text.stop_words import STOP_WORDS

COMPARED_ANSWERS = 6
"""Answers to a question compared with one another."""

MAX_OTHER = 0.2
"""The largest share of words, other than the answers, that only one of two similar sentences may contain."""

HEAD = 400
"""Characters at the beginning of a document that may name what it replaces, or its date."""

_WORD = re.compile(r"[^\s,;()\"“”]+")
_NUMBER = re.compile(r"\d+")
_NUMBERS = r"\d+(?:\.\d+)*(?:[-.]?(?:alpha|beta|rc|p)\d+|[a-z]\b)?"
_NAMED = re.compile(rf"(?<![^\W_])(?:v|ver|version|rev|revision|release|edition)[ ._-]*({_NUMBERS})", re.IGNORECASE)
_EDITION = re.compile(r"(?<!\d)(\d+(?:st|nd|rd|th))[ _-]edition\b", re.IGNORECASE)
_DOTTED = re.compile(rf"(?:([^\W\d_]+)[ _-]*|(?<![^/]))v?((?=\d+\.\d){_NUMBERS})", re.IGNORECASE)
_DOCUMENTATION = re.compile(r"([^\W\d_]+)[ _-]*(\d+)[ _-]doc(?:s|umentation)?(?![^\W_])", re.IGNORECASE)
_DATED = ("date", "updated", "modified", "valid_from")
_REPLACES = re.compile(r"\b(?:replac|supersed|obsolet)(?:es|ing)\b", re.IGNORECASE)
_REPLACED = re.compile(r"\b(?:replaced|superseded|obsoleted) by\b|\bno longer (?:valid|current)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:previous(?:ly)?|former(?:ly)?|earlier|old|older|originally|before|used to)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """The file of a passage's document, and the document's first ``HEAD`` characters."""

    source: str
    head: str


def current_first(question: str, answers: Sequence[Answer], origin: Callable[[Passage], Origin]) -> list[Answer]:
    """Order answers of similar sentences: the document's newer version first, contradictions side by side.

    An answer is marked with the ``newer`` document, or with the one it is ``contradicted_by``; a mail is newer than what it
    quotes. Questions about the past, or that name the version, keep the order.
    """
    ordered = _written_before_quoted(question, answers)
    for place in range(len(ordered)):
        for later in range(place + 1, len(ordered)):
            better, worse = ordered[place], ordered[later]
            if not _are_like(better, worse):
                continue
            origins = origin(better.passage), origin(worse.passage)
            if origins[0].source == origins[1].source:
                continue
            is_newer = _is_newer((better.passage, worse.passage), origins)
            if is_newer is None:
                ordered[place] = replace(better, contradicted_by=worse.passage.document_key)
                ordered.insert(place + 1, replace(ordered.pop(later), contradicted_by=better.passage.document_key))
            elif is_newer:
                ordered[later] = replace(worse, newer=better.passage.document_key)
            else:
                ordered[place] = replace(better, newer=worse.passage.document_key)
                if not _asks_for(question, (better.passage, worse.passage), origins):
                    ordered.insert(place, ordered.pop(later))
    return ordered


def _written_before_quoted(question: str, answers: Sequence[Answer]) -> list[Answer]:
    """If the first answer is quoted in a mail, put a likely answer of the mail's sender before it."""
    first = answers[0] if answers else None
    if first is None or not _is_quoted(first) or _PAST.search(question):
        return list(answers)
    key = first.passage.document_key
    written = next((a for a in answers if a.passage.document_key == key and not _is_quoted(a) and _is_likely(a)), None)
    if written is None:
        return list(answers)
    return [written, replace(first, newer=key), *(answer for answer in answers[1:] if answer is not written)]


def _is_quoted(answer: Answer) -> bool:
    """Return whether an answer is quoted in a mail: its line begins with ">"."""
    text, start = answer.passage.text, answer.start - answer.passage.start
    return "from" in answer.passage.fields and text.startswith(">", text.rfind("\n", 0, start) + 1)


def _is_likely(answer: Answer) -> bool:
    """Return whether an answer is likely and is not a header field of a mail."""
    is_field = bool(row_cells(answer.passage.text, answer.start - answer.passage.start))
    return (answer.confidence or 0.0) >= LIKELY and not is_field


def likely_answers(answers: Sequence[Answer], threshold: float) -> tuple[Answer, ...]:
    """Return the answers with a confidence of ``threshold`` or more, and the answers they are marked with.

    Confidences are lowered so that they never rise from one answer to the next, except for older versions: the order of
    answers is more reliable than that of their confidences.
    """
    likely = [answer for answer in answers if (answer.confidence or 0.0) >= threshold]
    marked = [_marking(answer, key, answers) for answer in likely for key in (answer.newer, answer.contradicted_by) if key]
    shown, most = list[Answer](), 1.0
    for answer in answers:
        if answer in likely and answer.confidence is not None and not answer.newer:
            most = min(most, answer.confidence)
            shown.append(replace(answer, confidence=most))
        elif answer in likely or answer in marked:
            shown.append(answer)
    return tuple(shown)


def _marking(marked: Answer, key: str, answers: Sequence[Answer]) -> Answer | None:
    """Return the first current answer in the document ``key`` that differs from a ``marked`` one."""
    document_answers = (answer for answer in answers if answer.passage.document_key == key and not answer.newer)
    return next((answer for answer in document_answers if _are_like(answer, marked)), None)


def _are_like(first: Answer, second: Answer) -> bool:
    """Return whether sentences from two documents say the same about something except for their answers."""
    if first.passage.document_key == second.passage.document_key:
        return False
    words = [_words(answer.sentence.text) for answer in (first, second)]
    differing = [set(words[0]) - set(words[1]), set(words[1]) - set(words[0])]
    answered = [set(_words(answer.text)) for answer in (first, second)]
    shared = {word.lower() for word in set(words[0]).intersection(words[1]).difference(*answered)}
    if not shared - STOP_WORDS:  # they have no subject in common
        return False
    inside = [words & answer for words, answer in zip(differing, answered, strict=True)]
    outside = [word for words, answer in zip(differing, answered, strict=True) for word in words - answer]
    return all(inside) and not any(map(_is_label, outside)) and len(outside) <= MAX_OTHER * min(map(len, words))


def _is_label(word: str) -> bool:
    """Return whether a word distinguishes things: it has a digit, or a capital inside the sentence."""
    return any(map(str.isdigit, word)) or word[:1].isupper()


def _words(text: str) -> list[str]:
    words = [word.rstrip(".:!?") for word in _WORD.findall(text)]
    return [words[0].lower(), *words[1:]] if words else []


def _is_newer(passages: tuple[Passage, Passage], origins: tuple[Origin, Origin]) -> bool | None:
    """Return whether the first of two documents is the newer version of the other; None if they are not versions of one."""
    names = [_names(*pair) for pair in zip(passages, origins, strict=True)]
    paths, titles = (origins[0].source, origins[1].source), (passages[0].title, passages[1].title)
    differ_in_version = _without_versions(paths[0]) == _without_versions(paths[1])
    is_series = not differ_in_version and _NUMBER.sub("", paths[0]) == _NUMBER.sub("", paths[1])  # chapter 1, chapter 2
    may_be_versions = differ_in_version or is_series or (bool(titles[0]) and _are_alike(*titles))
    for pattern, is_first_newer in ((_REPLACES, True), (_REPLACED, False)):
        sentences = [_sentence_with(pattern, origin.head) for origin in origins]
        is_stated = [
            bool(sentence)
            and ((may_be_versions and not is_series) or any(_is_named(name, sentence) for name in names[1 - place]))
            for place, sentence in enumerate(sentences)
        ]
        if is_stated[0] != is_stated[1]:
            return is_stated[0] == is_first_newer
    if not may_be_versions:
        return None
    orders = [] if is_series else [_is_later(*(_moment(p.fields.get(name, "")) for p in passages)) for name in _DATED]
    orders.append(_is_higher(*(_versions(f"v{passage.fields.get('version', '')}") for passage in passages)))
    for texts in (paths, titles):
        if _without_versions(texts[0]) == _without_versions(texts[1]):
            orders += [] if is_series else [_is_later(*map(first_date, texts))]
            orders.append(_is_higher(*map(_versions, texts)))
    orders += [] if is_series else [_is_later(*(first_date(origin.head) for origin in origins))]
    return next((order for order in orders if order is not None), None)


def _names(passage: Passage, origin: Origin) -> list[str]:
    """Return what other documents may call a document, in lower case: its file name and a title of several words."""
    file = origin.source.rpartition("/")[2].lower()
    stem = file.rpartition(".")[0]
    return [name for name in (file, stem, passage.title.lower()) if name and (name == file or re.search(r"\w\W+\w|_", name))]


def _is_named(name: str, sentence: str) -> bool:
    """Return whether a sentence contains a name as a whole: "data.md" does not contain "a.md"."""
    return bool(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", sentence))


def _sentence_with(pattern: re.Pattern[str], text: str) -> str:
    """Return the sentence that contains a pattern, in lower case; empty if there is none."""
    match = pattern.search(text)
    if match is None:
        return ""
    begin = max(text.rfind("\n", 0, match.start()), text.rfind(". ", 0, match.start())) + 1
    end = re.compile(r"[.!?](?=\s)|\n|$").search(text, match.end())
    return text[begin : end.start() if end else len(text)].lower()


def _are_alike(first: str, second: str) -> bool:
    """Return whether two titles differ only in versions, dates or numbers."""
    return _without_versions(first) == _without_versions(second) or _NUMBER.sub("", first) == _NUMBER.sub("", second)


def _versions(text: str) -> list[VersionOrder]:
    """Return the version numbers in a path or title, in a form that sorts.

    They are numbers after "v", "version" and the like, editions, and numbers after a name, dotted or before
    "documentation", as in "Python 3.11" and "LLVM 14 documentation", not "Chapter 1.2".
    """
    return [version_order(version.lower()) for _, _, version in _version_places(text)]


def _without_versions(text: str) -> str:
    """Return a path or title with placeholders for its versions and dates."""
    parts, last_end = [], 0
    for start, end, _ in _version_places(text):
        parts.append(without_dates(text[last_end:start]))
        last_end = end
    return "\0".join([*parts, without_dates(text[last_end:])])


def _version_places(text: str) -> list[tuple[int, int, str]]:
    """Return where versions are in a text, in order, with each version."""
    places = [(*match.span(1), match[1]) for pattern in (_NAMED, _EDITION) for match in pattern.finditer(text)]
    named = (match for pattern in (_DOTTED, _DOCUMENTATION) for match in pattern.finditer(text))
    places += [(*match.span(2), match[2]) for match in named if (match[1] or "").lower() not in NO_NAME]
    disjoint: list[tuple[int, int, str]] = []
    for start, end, version in sorted(places, key=lambda place: (place[0], -place[1])):
        if (not disjoint or start >= disjoint[-1][1]) and not first_date(version):
            disjoint.append((start, end, version))
    return disjoint


def _is_higher(first: list[VersionOrder], second: list[VersionOrder]) -> bool | None:
    """Return whether the first versions are higher; None if they are equal or one text has none."""
    return first > second if first and second and first != second else None


def _is_later(first: tuple[int, ...], second: tuple[int, ...]) -> bool | None:
    """Return whether the first date is later, as far as both are specified; None if equal or one is missing."""
    parts = min(len(first), len(second))
    return first[:parts] > second[:parts] if first[:parts] != second[:parts] else None


def _moment(field: str) -> tuple[int, ...]:
    """Return the date in a date field, with its time in UTC if it has one."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(Exception):  # the library can fail on a damaged date
            moment = read(field)
            if ":" in field:
                return (moment.astimezone(UTC) if moment.tzinfo else moment).timetuple()[:6]
    return first_date(field)


def _asks_for(question: str, passages: tuple[Passage, Passage], origins: tuple[Origin, Origin]) -> bool:
    """Return whether a question is about the past, or contains a number found only in the older document's name or head."""
    older, newer = (
        {*_NUMBER.findall(f"{origin.source} {passage.title} {origin.head}")}
        for passage, origin in zip(passages, origins, strict=True)
    )
    return bool(_PAST.search(question)) or bool({*_NUMBER.findall(question)} & (older - newer))
