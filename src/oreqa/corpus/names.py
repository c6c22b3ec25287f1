"""Recognise the lines of manuals that name an option, a setting or a function, to be explained below them."""

from __future__ import annotations

import re

LONGEST_LINE = 80
"""Characters of a line that names something, at most."""

_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_NAME = re.compile(r"[A-Za-z]\w*(?:[-_.:/]\w+)+|[A-Za-z]*[a-z][A-Z]\w*|[A-Z][A-Z0-9]{2,}")
"""A word that looks like an identifier: with a hyphen, an underscore or a capital inside, or all in capitals."""

_IDENTIFIER = re.compile(r"[_./:]|[a-z][A-Z]")
"""What stands in identifiers, and hardly in words; the hyphen of "Check-in" does in both."""

_NO_OPTION = re.compile(r"-+\s|-\d+\s")
"""A dash before text, or a number below zero."""


def names_in(line: str) -> list[tuple[str, int]]:
    """The names in a line that begins with one and is no sentence, with their first characters; none in another line."""
    words = line.split()
    if not words or len(line) > LONGEST_LINE or line.rstrip()[-1] in ".:;?!":
        return []
    options = [(match.group(), match.start()) for match in _OPTION.finditer(line)]
    if options and words[0].startswith("-"):
        return options
    match = _NAME.match(line)
    if match is None or len(words) > 4 or line[match.end() : match.end() + 1] not in ("", " ", "=", "(", "["):
        return []
    return [(match.group(), 0)]


def is_name(heading: str) -> bool:
    """Return whether a heading is the name of an option, a setting or a function, and not a title such as "OPTIONS"."""
    names = names_in(heading)
    if not names or _NO_OPTION.match(heading):
        return False
    name = names[0][0]
    if name.startswith("-"):
        return True
    return bool(_IDENTIFIER.search(name) or name != heading) and (name == heading or heading[len(name)] in "=([")
