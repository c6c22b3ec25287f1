"""The entries of references: an option, a setting or a function, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oreqa.core import Range
from oreqa.text.names import all_names, identifiers, is_name

_FIRST_LINE = re.compile(r"(?:\A|(?<=\n\n))[ \t]*(?P<line>\S.*?)[ \t]*(?=\n|\Z)")
"""The first line of a paragraph."""

_NUMBER = re.compile(r"[\d.]+\s+")
"""What stands before a name in a numbered heading."""


def other_entries(question: str, texts: Sequence[tuple[str, str]]) -> list[list[Range]]:
    """The entries of each text that are about something else than the identifiers that a question names; none where no text
    has an entry about one of them. A text comes with its heading, which may name what its beginning is about.

    Examples:
        >>> other_entries("What does --keep-last do?", [("OPTIONS", "--keep=N\\nkeep all\\n\\n--keep-last=N\\nkeep some")])
        [[(0, 19)]]
    """
    asked = identifiers(question)
    entries = [_entries(heading, text) for heading, text in texts] if asked else []
    if not any(names.intersection(asked) for of_text in entries for names, *_ in of_text):
        return [[] for _ in texts]
    return [[(start, end) for names, start, end in of_text if names.isdisjoint(asked)] for of_text in entries]


def _entries(heading: str, text: str) -> list[tuple[set[str], int, int]]:
    """The entries of a text: the names that each is about, as ``identifiers`` gives them, and where it begins and ends.

    Names without a line below them, as "--user=NAME" above "--password=WORD", share the next one's entry.
    """
    beginning = _NUMBER.sub("", heading.rpartition(" > ")[2], count=1)
    starts = [(all_names(beginning), 0, False)] if is_name(beginning) else []
    for match in _FIRST_LINE.finditer(text):
        if is_name(match["line"]):
            names, start = all_names(match["line"]), match.start()
            if starts and starts[-1][2]:
                before, start, _ = starts.pop()
                names |= before
            starts.append((names, start, text.startswith("\n\n", match.end())))
    ends = [*(start for _, start, _ in starts), len(text)][1:]
    return [(names, start, end) for (names, start, _), end in zip(starts, ends, strict=True) if start < end]
