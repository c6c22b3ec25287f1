"""Completes follow-up questions with the subject of the previous question: by rules, without a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.text.stop_words import STOP_WORDS

_TOKEN = re.compile(r"[^\s,;!?\"“”]+")
_OPENER = re.compile(r"^\s*(?:and|but|or|so|then)\b[\s,]*", re.IGNORECASE)
"""Words that join a question to the previous one."""

_ABOUT = re.compile(r"^\s*(?:(?:and|but|or)\s+)?(?:what|how)\s+about\s+(?P<other>.*?\w.*?)[\s?.!]*$", re.IGNORECASE)
_BARE = re.compile(r"^\s*(?:and|or)\s+(?P<other>(?:for\s+|in\s+)?[^?]+?)[\s?.!]*$", re.IGNORECASE)

_ASKING_WORDS = """\
what which who whom whose when where why how is are was were does do did can could may must"""
_ASKING = frozenset(_ASKING_WORDS.split())
_AUXILIARY = frozenset(["does", "do", "did", "can", "could", "may", "must", "will", "would", "should"])
_DETERMINERS = frozenset(["a", "an", "the", "my", "our", "your"])
_PRONOUNS = frozenset(["it", "they", "them", "he", "she", "him"])
_POSSESSIVES = frozenset(["its", "their", "his", "her", "theirs"])
_DEMONSTRATIVES = frozenset(["that", "this", "these", "those"])
_EMPTY_WORDS = frozenset(["happens", "happen", "mean", "means", "default", "value", "called", "name"])
"""Content words that do not name a subject by themselves."""

_JOINING = frozenset(["when", "if", "before", "after", "because", "while", "until", "that", "as"])
"""Words that begin a clause."""

_POINTING = frozenset(["if", "when", "in", "of", "for", "to", "with", "on", "is", "are", "from"])
"""Words before a demonstrative "that"."""

_NOTHING = re.compile(r"(?:\s+[\w-]+){1,4}?\s+(?:to|if|when|that|until)\s+\w|\s+worth\b")
"""What follows an expletive "it", as in "is it safe to"."""

_WHO = re.compile(r"\W*who(?:m|se)?\b", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|his|her)\b", re.IGNORECASE)

MOST_BEFORE = 2
"""The most content words before a pronoun that refers to the previous question; after more it refers to one of them."""


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.casefold()

    @property
    def is_name(self) -> bool:
        """Whether it looks like a name: a sign inside, a digit, or a capital after the first word."""
        plain = self.text.rstrip("'’s")
        return self.start > 0 and any(not c.islower() for c in plain) and any(c.isalnum() for c in plain) and len(plain) > 1


def _words(question: str) -> list[_Word]:
    words = []
    for match in _TOKEN.finditer(question):
        text = match.group().rstrip(".:")
        if text:
            words.append(_Word(text, match.start(), match.start() + len(text)))
    return words


def subject(question: str) -> str:
    """Return the subject of a question: the phrase after its first article, else its names, else its content words.

    Examples:
        >>> subject("How long is the warranty of the TX-5?"), subject("What does auto_reload do?")
        ('the warranty of the TX-5', 'auto_reload')
    """
    words = _words(question)
    lows = [word.low for word in words]
    article = next((n for n, low in enumerate(lows) if low in _DETERMINERS or low in _POSSESSIVES), None)
    names = [n for n, word in enumerate(words) if word.is_name]
    if article is not None and (not names or names[0] > article or lows[article] in _POSSESSIVES):
        last = next((n for n in range(article + 2, len(words)) if lows[n] in ("is", "are", "was", "were")), len(words))
        has_auxiliary = any(low in _AUXILIARY for low in lows[:article]) and lows[article] not in _POSSESSIVES
        if last == len(words) and last - 1 > article and _is_verb(words[-1], has_auxiliary):
            last -= 1
        while last > article + 1 and lows[last - 1] in STOP_WORDS:
            last -= 1
        if last > article + 1:
            phrase = question[words[article].start : words[last - 1].end]
            if lows[article] not in _POSSESSIVES:
                return phrase
            owner = f" of {words[names[0]].text}" if names and names[0] < article else ""
            return f"the{phrase[len(words[article].text) :]}{owner}"
    if names:
        return " of ".join(words[n].text for n in names)
    content = [word for word in words if word.low not in STOP_WORDS]
    if len(content) > 1 and _is_verb(content[-1], any(low in _AUXILIARY for low in lows)):
        content.pop()
    return " ".join(word.text for word in content)


def _is_verb(last: _Word, has_auxiliary: bool) -> bool:
    """Return whether the last word of a question is its verb, e.g. "cover" in "What does it cover?"."""
    return last.low not in STOP_WORDS and not last.is_name and (has_auxiliary or last.low.endswith("ed"))


def completed_question(question: str, before: str, answer: str = "") -> str | None:
    """Return a follow-up question with the subject of the previous one, ``before``; None if it stands alone.

    "He" and "she" refer to the ``answer`` of a question that asked who.

    Examples:
        >>> completed_question("And what does it cover?", "How long is the warranty of the TX-5?")
        'what does the warranty of the TX-5 cover?'
        >>> completed_question("What about the TX-7?", "How long is the warranty of the TX-5?")
        'How long is the warranty of the TX-7?'
        >>> completed_question("How heavy is the TX-7?", "How long is the warranty of the TX-5?")
    """
    about = answer if answer and _WHO.match(before) and _PERSON.search(question) else subject(before)
    if not about or not any(map(str.isalnum, _OPENER.sub("", question))):
        return None
    if (match := _ABOUT.match(question)) is not None:
        if match["other"].casefold() in _PRONOUNS | _DEMONSTRATIVES:
            return before
        return _in_place(before, match["other"]) or _with_subject(before, about, match["other"])
    match = _BARE.match(question)
    if match is not None and _words(match["other"])[0].low not in _ASKING:
        return _in_place(before, match["other"]) or _asked_alike(before, about, match["other"])
    rest = _named(_OPENER.sub("", question), before)
    replaced = _replaced(rest, about)
    if replaced is not None:
        return replaced
    if rest != question:
        return rest if _names_something(rest) else _appended(rest, about)
    return None if _names_something(rest) else _appended(rest, about)


def _with_subject(before: str, about: str, other: str) -> str:
    """Return the previous question with another subject."""
    return before.replace(about, other) if about in before else f"{before.rstrip()} {other}?"


def _asked_alike(before: str, about: str, other: str) -> str:
    """Return the previous question asked about a phrase, e.g. "the default" or "the key of the file"."""
    words = _words(before)
    article = next((n for n, word in enumerate(words) if word.low in _DETERMINERS), 0)
    if article and re.search(r"\b(?:of|in|for)\b", other):
        return f"{before[: words[article].start]}{other}?"
    return f"What is {_with_article(other)} of {about}?"


def _named(question: str, before: str) -> str:
    """Return the question with "one" replaced by the noun of "which NOUN" in the previous question."""
    kind = re.match(r"\W*(?:which|what)\s+([\w-]+)", before, re.IGNORECASE)
    if kind is None or kind[1].casefold() in STOP_WORDS:
        return question
    return re.sub(r"^(which )one\b(?: of them| of these)?", rf"\g<1>{kind[1]}", question, count=1, flags=re.IGNORECASE)


def _with_article(phrase: str) -> str:
    first, _, others = phrase.partition(" ")
    return f"the {others}" if first.casefold() in _POSSESSIVES and others else phrase


def _in_place(before: str, other: str) -> str | None:
    """Return the previous question with its counterpart of ``other`` replaced: a phrase ending alike, or the last name."""
    old, new = _words(before), _words(other)
    while new and new[0].low in ("for", "in", "with"):
        new = new[1:]
    if not new:
        return None
    phrase = other[new[0].start : new[-1].end]
    ends = [n for n, word in enumerate(old) if word.low == new[-1].low and len(new) > 1]
    if ends:
        last = ends[-1]
        if new[0].low in _DETERMINERS and len(new) > 2:
            new = new[1:]  # the previous question keeps its own
        first = max(0, last - len(new) + 1)
        first += old[first].low in _DETERMINERS
        return f"{before[: old[first].start]}{other[new[0].start : new[-1].end]}{before[old[last].end :]}"
    superlatives = [word for word in old if word.low.endswith("est")]
    if superlatives and new[-1].low.endswith("est") and len(new) <= 2:
        return f"{before[: superlatives[-1].start]}{new[-1].text}{before[superlatives[-1].end :]}"
    names = [word for word in old if word.is_name]
    is_named = any(_Word(word.text, 1, 0).is_name for word in new)
    if names and is_named and len(new) <= 2:
        replaced = names[-1]
        previous = [word for word in old if word.start < replaced.start][-1:]
        in_phrase = any(word.low in _DETERMINERS or word.low not in STOP_WORDS for word in previous)
        if new[0].low in _DETERMINERS and in_phrase:
            phrase = other[new[1].start : new[-1].end] if len(new) > 1 else phrase
        return f"{before[: replaced.start]}{phrase}{before[replaced.end :]}"
    return None


def _replaced(question: str, about: str) -> str | None:
    """Return a question with its pronouns replaced by the subject; None without such a pronoun."""
    words = _words(question)
    for n, word in enumerate(words):
        head, tail = question[: word.start], question[word.end :]
        is_last = n == len(words) - 1
        content = sum(each.low not in STOP_WORDS for each in words[:n])
        if (
            word.low == "there"
            and is_last
            and content in range(1, MOST_BEFORE + 2)
            and words[n - 1].low not in ("is", "are")
        ):
            return f"{head}in {about}{tail}"
        if _has_antecedent(words[:n]):
            continue
        if word.low in _PRONOUNS and not (word.low == "it" and _NOTHING.match(tail)):
            return f"{head}{about}{tail}"
        if word.low in _POSSESSIVES and (not content or words[0].low in ("which", "what")) and not tail.startswith(" own "):
            return _appended(f"{head}the{tail}", about)
        if word.low in _DEMONSTRATIVES and _is_demonstrative(words, n):
            return f"{head}{about}{tail}" if is_last else _appended(f"{head}the{tail}", about)
    return None


def _has_antecedent(earlier: Sequence[_Word]) -> bool:
    """Return whether a pronoun may refer to something named earlier in the same question."""
    content = [word for word in earlier if word.low not in STOP_WORDS]
    joined = any(word.low in _JOINING for word in earlier)
    return (
        any(word.low in _DETERMINERS or word.is_name for word in earlier)
        or len(content) > MOST_BEFORE
        or (joined and len(content) > 1)
    )


def _is_demonstrative(words: Sequence[_Word], n: int) -> bool:
    """Return whether "that" is demonstrative, as in "if that file is there", not relative, as in "a file that is new"."""
    if n == len(words) - 1:
        return True
    if words[n + 1].low in STOP_WORDS:
        return False
    is_end = n + 2 == len(words) and any(word.low in _AUXILIARY for word in words[:n])
    return is_end or (n > 0 and words[n - 1].low in _POINTING)


def _names_something(question: str) -> bool:
    """Return whether a question contains a word that says what it is about."""
    words = [word.low for word in _words(question) if any(map(str.isalpha, word.text))]
    return any(word not in STOP_WORDS and word not in _EMPTY_WORDS for word in words)


def _appended(question: str, about: str) -> str:
    return f"{question.rstrip(' ?.!')} of {about}?"
