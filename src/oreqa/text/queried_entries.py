"""Finds the reference entries that a question asks about, among the texts read for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oreqa.core import Range
from oreqa.text.asking import beside_names, queried_names
from oreqa.text.defaults import asks_for_default, mentions_default, without_default
from oreqa.text.entries import ReferenceEntry, find_entries, may_name
from oreqa.text.names import contains_names
from oreqa.text.stop_words import WORD

ReferenceText = tuple[str, str, str]
"""A document's name, a passage's heading, which may name the subject of its beginning, and the passage's text."""

_SPELT = re.compile(r"\w+(?:[-_]\w+)+")
"""A name in the question with a sign inside that other spellings omit."""

_VALUE = re.compile(r"[:=(]|default", re.IGNORECASE)
"""What the first line of an entry says beyond its names and the kind of their values."""

_PARAGRAPH = re.compile(r"(?:[^\n]+\n?)+")


def queried_entries(question: str, texts: Sequence[ReferenceText]) -> list[list[ReferenceEntry]]:
    """Return, for each text, the entries about a name that a question asks for.

    If the question also names documents or headings, only their entries count, and of several spellings only the question's,
    with its dashes.

    Examples:
        >>> [[entry]] = queried_entries("What does --keep do?", [("a.1", "OPTIONS", "--keep=N\\nkeep all")])
        >>> entry.names, entry.body_start
        (frozenset({'--keep'}), 8)
    """
    queried = queried_names(question)
    candidates = [number for number, (_, heading, text) in enumerate(texts) if may_name(queried, f"{heading}\n{text}")]
    chosen = dict(zip(candidates, _chosen(question, [texts[number] for number in candidates])[1], strict=True))
    return [chosen.get(number, []) for number in range(len(texts))]


def other_entries(question: str, texts: Sequence[ReferenceText]) -> list[list[Range]]:
    """Return, for each text, the entries about other things than the names that a question asks for.

    There are none if no text has an entry about one of the names. If the question asks for a default, everything that does
    not state it is excluded, too.

    Examples:
        >>> text = "--keep=N\\nkeep all\\n\\n--keep-last=N\\nkeep some"
        >>> other_entries("What does --keep-last do?", [("a.1", "OPTIONS", text)])
        [[(0, 19)]]
    """
    every, chosen = _chosen(question, texts)
    if not any(chosen):
        return [[] for _ in texts]
    excluded = [
        [(entry.start, entry.end) for entry in text_entries if entry not in chosen_entries]
        for text_entries, chosen_entries in zip(every, chosen, strict=True)
    ]
    if asks_for_default(question):
        queried = queried_names(question)
        for ranges, text_entries, chosen_entries, (*_, text) in zip(excluded, every, chosen, texts, strict=True):
            for entry in chosen_entries:
                parts = list(without_default(text, entry.start, entry.end))
                if entry.start < entry.body_start and not _VALUE.search(text, entry.start, entry.body_start):
                    parts = parts if (entry.start, entry.end) in parts else [(entry.start, entry.body_start), *parts]
                ranges.extend(parts)
            ranges.extend(_other_paragraphs(text[: text_entries[0].start if text_entries else len(text)], queried))
    return excluded


def _chosen(question: str, texts: Sequence[ReferenceText]) -> tuple[list[list[ReferenceEntry]], list[list[ReferenceEntry]]]:
    """Return the entries of each text, and those of them that are asked for."""
    if not (queried := queried_names(question)):
        return [[] for _ in texts], [[] for _ in texts]
    every = [find_entries(heading, text, queried) for _, heading, text in texts]
    other_names = {word.removesuffix("s") for word in beside_names(question, queried)}
    named = [
        len(other_names & {word.removesuffix("s") for word in WORD.findall(f"{document} {heading}".casefold())})
        for document, heading, _ in texts
    ]
    spelt = [token.strip("-") for token in _SPELT.findall(question.casefold())]
    ranks = [
        [
            _rank(entry, entry.matches(queried), count, spelt, text[entry.start : entry.body_start] or heading)
            for entry in text_entries
        ]
        for count, text_entries, (_, heading, text) in zip(named, every, texts, strict=True)
    ]
    best = max((rank for text_ranks in ranks for rank in text_ranks), default=())
    if not best:
        return every, [[] for _ in texts]
    return every, [
        [entry for entry, rank in zip(text_entries, text_ranks, strict=True) if rank == best]
        for text_entries, text_ranks in zip(every, ranks, strict=True)
    ]


def _rank(entry: ReferenceEntry, matched: int, named: int, spelt: Sequence[str], first: str) -> tuple[int, ...]:
    """Return an entry's sort key, the most important criterion first; empty if it is not asked for.

    The ``first`` line or the heading has its name.
    """
    is_spelt = not spelt or any(name in first.casefold() for name in spelt)
    return (matched > 1, named, not entry.is_row, matched, is_spelt) if matched else ()


def _other_paragraphs(text: str, queried: set[str]) -> list[Range]:
    """Return the paragraphs outside of entries that do not mention both a default and a name in question."""
    names = [name.lstrip("-").casefold() for name in queried]
    return [
        match.span()
        for match in _PARAGRAPH.finditer(text)
        if not (mentions_default(match.group()) and any(contains_names([name], match.group()) for name in names))
    ]
