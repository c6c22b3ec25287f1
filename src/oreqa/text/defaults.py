"""Defaults: questions that ask for one, and what a reference entry says about its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from oreqa.core import Range
from oreqa.text.sentences import split_sentences

_DEFAULT = re.compile(r"(?<![\w-])default(?:s|ed|ing)?(?![\w-])", re.IGNORECASE)

_HOW_TO = re.compile(r"\s*how (?:do|does|can|could|should|to)\b", re.IGNORECASE)
"""Asks for steps, as "How do I change the default of it?"."""

_WHETHER = re.compile(r"\W*(?:is|are|was|were|does|do|will|has|have)\b", re.IGNORECASE)
"""Asks for yes or no."""

_STATED = re.compile(
    r"(?<![\w-])defaults?(?: value| setting)?[\"'`’”]*(?: is| are| to| of|[:=,;(-]| \w+[)\]])|\bby default\b"
    r"|\((?:the )?default\)|\b(?:is|are) (?:the|a) default\b",
    re.IGNORECASE,
)
"""States a default, as "The default is 5", "Defaults to 5", "(default 5)" and "It is on by default"."""

_CUE = re.compile(
    r"initial|normal|usual|standard|assum|otherwise|unless|omitted|unset|\b(?:if|when) (?:no|none|not|un)"
    r"|\bnot (?:given|set|specified|present|provided|used)\b|vorgabe|voreinstell|d[ée]faut|predetermin"
    r"|\A\s*[\w.-]+ ?[:=] ?(?:\d|yes\b|no\b|on\b|off\b|true\b|false\b)",
    re.IGNORECASE,
)
"""What may state a default without that word: a synonym, also in other languages, or a value in the first line."""

_INITIAL = re.compile(r"\binitial(?:ly| setting| value)\b", re.IGNORECASE)
"""Another word that states a default, also next to "default"."""

_PLACEHOLDER = re.compile(r"[<\[].*")
"""A placeholder for a value in the first line of an entry, as "<yes or no>"."""

_BACK, _FORTH = (
    re.compile(r"\W*(?:this|that|it|the|which|default)\b[^:=]*$", re.IGNORECASE),
    re.compile(r"\W*(?:value\W*)?$"),
)
"""Sentences that refer to the previous one, as "This is the default.", and the end of a sentence followed by the value."""


def asks_for_default(question: str) -> bool:
    """Return whether a question asks what applies if nothing else is set.

    Examples:
        >>> asks_for_default("What is the default of --keep?"), asks_for_default("How do I change the default?")
        (True, False)
    """
    return bool(_DEFAULT.search(question)) and not _HOW_TO.match(question)


def mentions_default(text: str) -> bool:
    """Return whether a text contains the word "default"."""
    return bool(_DEFAULT.search(text))


def asks_whether_default(question: str) -> bool:
    """Return whether a question asks yes or no about a default.

    Examples:
        >>> asks_whether_default("Is it on by default?"), asks_whether_default("What is the default?")
        (True, False)
    """
    return bool(_WHETHER.match(question)) and asks_for_default(question)


def states_default(text: str) -> bool:
    """Return whether a text states a default.

    Examples:
        >>> states_default("It defaults to 5."), states_default("A defaulting mechanism exists.")
        (True, False)
    """
    return bool(_STATED.search(text))


def beside_defaults(question: str, texts: Sequence[str]) -> list[list[Range]]:
    """Return the ranges of each text that a yes-or-no question about a default excludes.

    They are the sentences without "default", if any sentence has it.
    """
    if not asks_whether_default(question) or not any(map(mentions_default, texts)):
        return [[] for _ in texts]
    return [list(without_default(text, 0, len(text))) if mentions_default(text) else [(0, len(text))] for text in texts]


def without_default(text: str, start: int, end: int) -> Iterator[Range]:
    """Yield the parts of an entry, from ``start`` to ``end`` of a text, that do not state its default.

    That is the whole entry if it states none; otherwise placeholders for values, and the sentences without "default" if any
    has it.
    """
    entry = text[start:end]
    if not mentions_default(entry) and not _CUE.search(entry):
        yield start, end
        return
    placeholder = _PLACEHOLDER.search(entry.partition("\n")[0])
    if placeholder and not mentions_default(placeholder.group()):
        yield start + placeholder.start(), start + placeholder.end()
    if not mentions_default(entry):
        return
    sentences = split_sentences(entry)
    saying = [number for number, (first, last) in enumerate(sentences) if mentions_default(entry[first:last])]
    stating = {*saying, *(number for number, place in enumerate(sentences) if _INITIAL.search(entry[slice(*place)]))}
    for number in saying:
        sentence = entry[slice(*sentences[number])]
        *_, word = _DEFAULT.finditer(sentence)
        if _FORTH.match(sentence, word.end()):
            stating.add(number + 1)
        if number and _BACK.match(sentence):
            stating.add(number - 1)
    ends = [0, *(first for first, _ in sentences[1:]), len(entry)]
    for number, (first, last) in enumerate(pairwise(ends)):
        if number not in stating:
            yield start + first, start + last
