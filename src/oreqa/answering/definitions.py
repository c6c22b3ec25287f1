"""Answers what a name means with the statement that defines it in its reference entry."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import replace

from oreqa.answer import Answer
from oreqa.core import Hit, Passage, Range, Sentence
from oreqa.models.fitted import Calibration
from oreqa.text.answers import normalize_answer
from oreqa.text.asking import asks_what_it_is, beside_names, document_names, queried_names
from oreqa.text.entries import ReferenceEntry, names_something
from oreqa.text.names import key_of
from oreqa.text.queried_entries import ReferenceText, queried_entries
from oreqa.text.stop_words import WORD

SHARE_RIGHT = 0.95
"""The probability of an answer if only one statement is about a name: 96 to 98% are right (docs/text-rules.md)."""

MOST = 3
"""The most differing statements returned as answers; beyond that, the reader chooses."""

_BEFORE = re.compile(
    r"(?:by default|normally|usually|ordinarily|without|although|since|historically|in (?:some|certain)"
    r"|(?:if|when|unless)(?! (?:used|invoked|specified|set|given|enabled|present|true|this|the option|it is))"
    r"(?! [\w-]+ is (?:used|specified|set|given)))\b",
    re.IGNORECASE,
)
"""Openings of sentences that describe behaviour without an option rather than what the option does."""

_ASIDE, _ASIDE_LINE = re.compile(r"\([^()]*\)\W*"), re.compile(r"\s*\([^()]*\)[ \t]*\n")
"""Words in brackets, e.g. "(alias: detach)", and a line consisting of them."""

_KIND = r"(?:option|setting|parameter|command|directive|variable|flag|switch|keyword|attribute)"
_DOES = rf"(?:{_KIND} )?(?:is|are|tells?|causes?|makes?|lets?|allows?|enables?|disables?|sets?|specif\w+|will|can|{_KIND})\b"


def definitions_first(
    question: str, hits: Sequence[Hit], calibration: Calibration | None, read: Sequence[Answer]
) -> list[Answer]:
    """Return the ``definitions`` followed by the answers ``read`` outside their entries."""
    defined = definitions(question, hits, calibration)
    return [
        *(answer for answer, _ in defined),
        *(answer for answer in read if not any(_is_in(answer, *of) for of in defined)),
    ]


def _is_in(answer: Answer, defined: Answer, entry: ReferenceEntry) -> bool:
    """Return whether an answer lies in the entry of a definition."""
    start, end = answer.start - answer.passage.start, answer.end - answer.passage.start
    return answer.passage is defined.passage and start < entry.end and entry.start < end


def definitions(question: str, hits: Sequence[Hit], calibration: Calibration | None) -> list[tuple[Answer, ReferenceEntry]]:
    """Return the statements that define the name a question asks about, best first, with their entries.

    The list is empty for other questions, and for one that says more than the name and where to look for it. Statements that
    differ share the probability. The confidence is None without a calibration.
    """
    names = queried_names(question) if asks_what_it_is(question) else set()
    if not names:
        return []
    other_names, answers = beside_names(question, names), dict[str, tuple[Answer, ReferenceEntry]]()
    for hit, entries in zip(hits, queried_entries(question, [entry_text(hit.passage) for hit in hits]), strict=True):
        passage, documents = hit.passage, set(map(key_of, document_names(hit.passage.document_key)))
        if not entries or not other_names <= set(WORD.findall(" ".join(entry_text(passage)[:2]).casefold())):
            continue
        for entry in entries:
            if any(name not in documents and not entry.matches({name}) for name in names):
                continue  # an option of a command
            if stated := _statement(passage, entry, names):
                sentence, (start, end) = stated
                text = passage.text[start:end]
                answer = Answer(
                    text, passage.start + start, passage.start + end, None, sentence, passage, hit.score, dict(hit.scores)
                )
                answers.setdefault(normalize_answer(text), (answer, entry))
    if len(answers) > MOST:
        return []
    confidence = None if calibration is None else SHARE_RIGHT / max(1, len(answers))
    return [(replace(answer, confidence=confidence), entry) for answer, entry in answers.values()]


def entry_text(passage: Passage) -> ReferenceText:
    """Return a passage with the names of its document, as the lookup of entries expects it."""
    return f"{passage.document_key} {passage.title}", passage.heading, passage.text


def _statement(passage: Passage, entry: ReferenceEntry, names: set[str]) -> tuple[Sentence, Range] | None:
    """Return the sentence of an entry that says what it is about, and the range in it that does."""
    statements = []
    for sentence in passage.sentences:
        start, end = max(sentence.start - passage.start, entry.body_start), min(sentence.end - passage.start, entry.end)
        text = passage.text[start:end]
        if aside := _ASIDE_LINE.match(text):
            start, text = start + aside.end(), text[aside.end() :]
        if text.strip():
            start += len(text) - len(text.lstrip(" \t\n:"))
            statements.append((sentence, (start, end - len(text) + len(text.rstrip()))))
    if not statements:
        return None
    if names_something(passage.text[slice(*statements[0][1])].partition("\n")[0]):
        return None
    statements = [row for row in statements if not _ASIDE.fullmatch(passage.text[slice(*row[1])])] or statements
    texts = [passage.text[slice(*place)] for _, place in statements]
    if _BEFORE.match(texts[0]):
        does = _says_what(names | entry.names)
        return next((row for row, text in zip(statements, texts, strict=True) if does.search(text)), statements[0])
    return statements[0]


def _says_what(option_names: Set[str]) -> re.Pattern[str]:
    """Return a pattern for sentences that say what an option does, by its name or as "this option"."""
    bare = {name.lstrip("-"): "-" * (len(name) - len(name.lstrip("-"))) for name in option_names}
    names = "|".join(dashes + "[-_ ]?".join(map(re.escape, letters)) for letters, dashes in bare.items())
    return re.compile(rf"\b(?:this|the) {_KIND}\b|(?<![\w-])(?:{names})(?![\w-])[\"'’]* {_DOES}", re.IGNORECASE)
