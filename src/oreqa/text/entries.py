"""The entries of references: an option, a setting or a function, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oreqa.core import Range
from oreqa.text.names import LONGEST_LINE, all_names, identifiers, is_name

_FIRST_LINE = re.compile(r"(?:\A|(?<=\n\n))[ \t]*(?P<line>\S.*?)[ \t]*(?=\n|\Z)")
"""The first line of a paragraph."""

_NUMBER = re.compile(r"[\d.]+\s+")
"""What stands before a name in a numbered heading."""

_SETTING = re.compile(r"(?P<name>[A-Za-z][\w.-]*):(?:\s+(?P<value>[<\[])?.*)?")
"""A name and what is set to it, as "port: <number>" and "num-threads: 4"."""

_DEFAULT, _PLACEHOLDER = re.compile(r"\bdefaults?\b", re.IGNORECASE), re.compile(r"[<\[].*")
"""A default is not what stands for a value in the line that an entry begins with, as "<yes or no>"."""

_TOKEN, _INSIDE = re.compile(r"[\w-]+"), re.compile(r"\w[-_]\w")


def other_entries(question: str, texts: Sequence[tuple[str, str]]) -> list[list[Range]]:
    """The entries of each text that are about something else than the identifiers that a question names; none where no text
    has an entry about one of them. For a default what stands for a value, as "<number>", is ruled out, too.

    A text comes with its heading, which may name what its beginning is about.

    Examples:
        >>> other_entries("What does --keep-last do?", [("OPTIONS", "--keep=N\\nkeep all\\n\\n--keep-last=N\\nkeep some")])
        [[(0, 19)]]
    """
    asked = {name for token in _TOKEN.findall(question) if _INSIDE.search(token) for name in all_names(token)}
    asked.update(identifiers(question))
    entries = [_entries(heading, text) for heading, text in texts] if asked else []
    if not any(names & asked for of_text in entries for names, *_ in of_text):
        return [[] for _ in texts]
    excluded = [[(start, end) for names, start, end in of_text if names.isdisjoint(asked)] for of_text in entries]
    if _DEFAULT.search(question):
        for ranges, of_text, (_, text) in zip(excluded, entries, texts, strict=True):
            lines = ((start, text.find("\n", start)) for names, start, _ in of_text if not names.isdisjoint(asked))
            ranges.extend(match.span() for line in lines if (match := _PLACEHOLDER.search(text, *line)))
    return excluded


def _entries(heading: str, text: str) -> list[tuple[set[str], int, int]]:
    """The entries of a text: the names that each is about, as ``identifiers`` gives them, and where it begins and ends.

    Names without a line below them, as "--user=NAME" above "--password=WORD", share the next one's entry.
    """
    beginning = _NUMBER.sub("", heading.rpartition(" > ")[2], count=1)
    starts = [(names, 0, False)] if (names := _names(beginning)) else []
    for match in _FIRST_LINE.finditer(text):
        if names := _names(match["line"]):
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


def _names(line: str) -> set[str]:
    """The names in the line that an entry begins with; none of another line."""
    setting = _SETTING.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if setting and (setting["value"] or _INSIDE.search(setting["name"])):
        return all_names(setting["name"])
    return all_names(line) if is_name(line) else set()
