"""Answers which release is the latest from a change log whose headings are versions."""

from __future__ import annotations

from collections.abc import Sequence

from oreqa.answer import Answer, Computation
from oreqa.core import Passage, Sentence
from oreqa.index.lexical import words
from oreqa.text.comparing import FREE
from oreqa.text.releases import ReleaseHeading, release_of
from oreqa.text.stop_words import WORD

MIN_RELEASES = 2
"""The fewest version headings that make a document a change log."""

_LATEST = frozenset(("latest", "newest", "current", "recent"))
_RELEASE = frozenset(("version", "release"))
_SAID = _LATEST | _RELEASE | frozenset(("most", "number", "out", "released", "stable", "when", "date", "published"))
"""Words that a question about the latest release may contain without being a condition."""


def asks_for_latest(question: str) -> bool:
    """Return whether a question asks for the latest version or release of something, or for its date."""
    question_words = set(_question_words(question))
    return bool(question_words & _LATEST) and bool(question_words & _RELEASE)


def latest_release(question: str, passages: Sequence[Passage]) -> Answer | None:
    """Return the latest version in a change log, or its date if asked when; ``passages`` are all its passages in order.

    Pre-releases count only if there is no final release. None if fewer than ``MIN_RELEASES`` headings are versions, or if
    the question contains a word that is neither in the path and title nor in the first heading.
    """
    releases = [(passage, release) for passage in passages if (release := _release(passage))]
    if len(releases) < MIN_RELEASES or not _is_about(question, passages[0]):
        return None
    finished = [pair for pair in releases if not pair[1].draft]
    passage, release = max(finished or releases, key=lambda pair: pair[1].order)
    place = release.date if "when" in _question_words(question) else release.version
    if place == (0, 0):
        return None
    heading = passage.text.partition("\n")[0]
    sentence = Sentence(heading, passage.start, passage.start + len(heading))
    computation = Computation("latest", "version", ((passage, sentence),), len(releases))
    start, end = passage.start + place[0], passage.start + place[1]
    return Answer(
        heading[slice(*place)], start, end, None, sentence, passage, 0.0, {}, form="computed", computation=computation
    )


def _release(passage: Passage) -> ReleaseHeading | None:
    """Return the release whose heading begins a passage."""
    line = passage.text.partition("\n")[0]
    return release_of(line) if passage.heading.endswith(line) else None


def _is_about(question: str, first: Passage) -> bool:
    path = "/".join(first.document_key.split("/")[-2:])
    head = set(words(f"{path} {first.title} {first.heading.partition(' > ')[0]}", "en"))
    rest = [word for word in _question_words(question) if word not in FREE | _SAID]
    return all(set(words(word, "en")) <= head for word in rest)


def _question_words(question: str) -> list[str]:
    return [word.lower() for word in WORD.findall(question)]
