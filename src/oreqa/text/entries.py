"""The entries of references: an option, a setting or a function, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from oreqa.core import Range
from oreqa.text.defaults import asks_for_default, mentions_default, without_default
from oreqa.text.names import LONGEST_LINE, all_names, holds_names, identifiers, is_name
from oreqa.text.stop_words import STOP_WORDS

_FIRST_LINE = re.compile(r"(?:\A|(?<=\n\n))[ \t]*(?P<line>\S.*?)[ \t]*(?=\n|\Z)")
"""The first line of a paragraph."""

_PARAGRAPH = re.compile(r"(?:[^\n]+\n?)+")

_NUMBER = re.compile(r"[\d.]+\s+")
"""What stands before a name in a numbered heading."""

_SETTING = re.compile(r"(?P<name>[A-Za-z][\w.-]*):(?:\s+(?P<value>[<\[])?.*)?")
"""A name and what is set to it, as "port: <number>" and "num-threads: 4"."""

_TERM = re.compile(r"[A-Za-z][\w.]*(?:[_-][\w.-]+(?:=\S*|(?: \S+){0,3})|=\S+|(?: [a-z]\w*)?)(?: ?[<\[{].*[>\]}])?")
"""A name with what stands for its value, above the lines that say what it is, as "threshold count" and "fsync=int"."""

_INNER = re.compile(r"^[ \t]*(?P<name>[A-Za-z][\w.-]*)$", re.MULTILINE)
"""A name above its lines in a list inside of an entry."""

_TOKEN, _INSIDE = re.compile(r"[\w-]+"), re.compile(r"\w[-_]\w|^-[A-Za-z]")

_PLAIN = re.compile(
    r"(?:^|[.,:] ?)what (?:does|is) (?P<subject>[a-z]\w+)(?: (?:do|mean|control|set|set to|used for|for|by default))?\W*$"
    r"|\b(?:default|meaning|effect|purpose)(?: value)? (?:of|for) (?P<object>[a-z]\w+)(?: by default)?\W*$"
    r"|\bthe (?P<kind>[a-z]\w+) (?:option|setting|parameter|variable|directive|keyword|command|flag|attribute)\b"
    r"|[`'\"“‘](?P<quoted>[a-z]\w+)[`'\"”’]",
    re.IGNORECASE,
)
"""A word that a question names as options and settings are named: "What does reload do?", "the reload command"."""


def asked_names(question: str) -> set[str]:
    """The names that a question may ask an entry about, as ``identifiers`` compares them: those with a hyphen or an
    underscore, and plain words where it names them.

    Examples:
        >>> sorted(asked_names("Is -n --dry-run, and what does reload do?")), asked_names("What is the capital of Chad?")
        (['dryrun', 'n'], set())
    """
    asked = {name for token in _TOKEN.findall(question) if _INSIDE.search(token) for name in all_names(token)}
    plain = {match[match.lastgroup or 0].casefold() for match in _PLAIN.finditer(question)}
    return asked | (plain - STOP_WORDS) | set(identifiers(question))


def has_entry(asked: set[str], heading: str, text: str) -> bool:
    """Whether a text has an entry whose whole name is asked for, and not a part of it."""
    return any(names & asked for names, *_ in _entries(heading, text)) or bool(_inner_entries(text, asked))


def other_entries(question: str, texts: Sequence[tuple[str, str]]) -> list[list[Range]]:
    """The entries of each text that are about something else than the identifiers that a question names; none where no text
    has an entry about one of them. For a default all is ruled out, too, that does not state it.

    A text comes with its heading, which may name what its beginning is about.

    Examples:
        >>> other_entries("What does --keep-last do?", [("OPTIONS", "--keep=N\\nkeep all\\n\\n--keep-last=N\\nkeep some")])
        [[(0, 19)]]
    """
    asked = asked_names(question)
    if not asked:
        return [[] for _ in texts]
    entries = [_entries(heading, text) for heading, text in texts]
    if not any(names & asked for of_text in entries for names, *_ in of_text):
        entries = [_inner_entries(text, asked) or of_text for of_text, (_, text) in zip(entries, texts, strict=True)]
    if not any(names & asked for of_text in entries for names, *_ in of_text):
        return [[] for _ in texts]
    excluded = [[(start, end) for names, start, end in of_text if names.isdisjoint(asked)] for of_text in entries]
    if asks_for_default(question):
        for ranges, of_text, (_, text) in zip(excluded, entries, texts, strict=True):
            for names, start, end in of_text:
                if not names.isdisjoint(asked):
                    ranges.extend(without_default(text, start, end))
            ranges.extend(_other_paragraphs(text[: of_text[0][1] if of_text else len(text)], asked))
    return excluded


def _other_paragraphs(text: str, asked: set[str]) -> list[Range]:
    """The paragraphs outside of entries that do not mention a default and what is asked for together."""
    return [
        match.span()
        for match in _PARAGRAPH.finditer(text)
        if not (mentions_default(match.group()) and any(holds_names([name.casefold()], match.group()) for name in asked))
    ]


def _entries(heading: str, text: str) -> list[tuple[set[str], int, int]]:
    """The entries of a text: the names that each is about, as ``identifiers`` gives them, and where it begins and ends.

    Names without a line below them, as "--user=NAME" above "--password=WORD", share the next one's entry.
    """
    beginning = _NUMBER.sub("", heading.rpartition(" > ")[2], count=1)
    starts = [(names, 0, False)] if (names := _names(beginning) or _joined(beginning)) else []
    for match in _FIRST_LINE.finditer(text):
        followed = text[match.end() : match.end() + 2].strip("\n") != ""
        if names := _names(match["line"], followed):
            start = match.start()
            for line in text[match.end() :].splitlines()[1:]:
                if not (beside := _names(line.strip())):
                    break
                names |= beside
            if starts and starts[-1][2]:
                before, start, _ = starts.pop()
                names |= before
            starts.append((names, start, text.startswith("\n\n", match.end())))
    ends = [*(start for _, start, _ in starts), len(text)][1:]
    return [(names, start, end) for (names, start, _), end in zip(starts, ends, strict=True) if start < end]


def _joined(heading: str) -> set[str]:
    """The name that a heading in small letters is, as "answer-rotation"; a word like "Check-in" is none."""
    return all_names(heading) if _INNER.fullmatch(heading) and heading.islower() else set()


def _inner_entries(text: str, asked: set[str]) -> list[tuple[set[str], int, int]]:
    """The entries of a list of terms inside of a text, if one of them is asked for."""
    starts = [(all_names(match["name"]), match.start()) for match in _INNER.finditer(text)]
    if not any(names & asked for names, _ in starts):
        return []
    return [(names, start, end) for (names, start), (_, end) in pairwise([*starts, (set(), len(text))])]


def _names(line: str, followed: bool = False) -> set[str]:
    """The names in the line that an entry begins with; none of another line. One that is ``followed`` by text may be a
    term."""
    setting = _SETTING.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if setting and (setting["value"] or _INSIDE.search(setting["name"])):
        return all_names(setting["name"])
    if is_name(line):
        of_name = [word for word in line.split() if word.startswith("-")] or [line.partition("(")[0]]
        return {name for part in of_name for name in all_names(part)}
    if followed and len(line) <= LONGEST_LINE and _TERM.fullmatch(line):
        return all_names(line.split()[0])
    return set()
