"""Names of options, settings and functions: headings that are one, and questions that contain one.

A reader confuses similar names, such as ``max_wal`` and ``max_wal_senders``; ``contains_names`` tells them apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

LONGEST_LINE = 80
"""The longest line, in characters, that names something."""

MIN_CODE, MIN_DIGITS = 6, 2
"""The fewest characters of a code such as 70B3D501B, and digits among them."""

_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_NAME = re.compile(r"[A-Za-z]\w*(?:[-_.:/]\w+)+|[A-Za-z]*[a-z][A-Z]\w*|[A-Z][A-Z0-9]{2,}")
"""A word that looks like an identifier: with a hyphen, an underscore or a capital inside, or all in capitals."""

_IDENTIFIER = re.compile(r"[_./:]|[a-z][A-Z]")
"""Signs of identifiers that are rare in words; the hyphen of "Check-in" occurs in both."""

_NO_OPTION = re.compile(r"-+\s|-\d+\s")
"""A dash before text, or a negative number."""

_TOKEN = re.compile(r"[\w-]++")
_LONG_OPTION, _NUMBERED = re.compile(r"--[a-z].*"), re.compile(r"[A-Z]{2,}-\d[\d-]+\d")
_AMOUNT = re.compile(r"\d+[A-Za-z]+")
"""A number with a unit or an ordinal ending, e.g. 250GB or 1000th."""

_VALUE = re.compile(r"=[^\s,]*")
"""The value assigned to a name, as "=NUM"."""

_SIGNS, _JOINED = re.compile(r"[\W_]+"), r"[\W_]*+"


def is_name(heading: str) -> bool:
    """Return whether a heading is the name of an option, a setting or a function, and not a title such as "OPTIONS"."""
    name = _first_name(heading)
    if not name or _NO_OPTION.match(heading):
        return False
    if name.startswith("-"):
        return True
    return bool(_IDENTIFIER.search(name) or name != heading) and (name == heading or heading[len(name)] in "=([")


def _first_name(line: str) -> str:
    """Return the name at the beginning of a line; "" if there is none, or if the line is long or a sentence."""
    words = line.split()
    if not words or len(line) > LONGEST_LINE or line.rstrip()[-1] in ".:;?!":
        return ""
    if words[0].startswith("-") and (option := _OPTION.search(line)):
        return option.group()
    match = _NAME.match(line)
    if match is None or len(words) > 4 or line[match.end() : match.end() + 1] not in ("", " ", "=", "(", "["):
        return ""
    return match.group()


def identifiers(question: str) -> list[str]:
    """Return the identifiers in a question, normalised for comparison: without signs and case."""
    return [_letters(token) for token in _TOKEN.findall(question) if is_identifier(token)]


def all_names(line: str) -> set[str]:
    """Return the names in a line, as ``key_of`` writes them: -l and --keeplast of "-l, --keep-last=N"."""
    return {key_of(token) for token in _TOKEN.findall(_VALUE.sub("", line))}


def key_of(name: str) -> str:
    """Normalise a name for comparison: its leading dashes, and its letters without signs and case.

    Single letters keep their case, which distinguishes options such as -p and -P.

    Examples:
        >>> key_of("--Keep-last"), key_of("pid file"), key_of("-P")
        ('--keeplast', 'pidfile', '-P')
    """
    bare = name.lstrip("-")
    dashes = "-" * (len(name) - len(bare))
    return dashes + (bare if len(bare) == 1 else _letters(bare))


def contains_names(names: Sequence[str], text: str) -> bool:
    """Return whether a text contains all names that ``identifiers`` returned, however their parts are joined there.

    A longer name, e.g. ``max_wal_senders`` or ``--no-edit``, does not contain a shorter one, ``max_wal`` or ``--edit``.
    """
    folded = _folded(text) if names else ""
    patterns = (rf"(?<!\w)(?<!\w-){_JOINED.join(map(re.escape, name))}(?![-_]?[^\W_])" for name in names)
    return all(re.search(pattern, folded) for pattern in patterns)


def is_identifier(token: str) -> bool:
    """Return whether a word has a form used only by names: with an underscore, a long option, or a code."""
    if "_" in token.strip("_-") or _LONG_OPTION.fullmatch(token) or _NUMBERED.fullmatch(token):
        return True
    digits = sum(character.isdecimal() for character in token)  # a code of letters and digits, as 70B3D501B
    is_code = len(token) >= MIN_CODE and token.isalnum() and token.isascii() and MIN_DIGITS <= digits < len(token)
    return is_code and not _AMOUNT.fullmatch(token)


def _letters(text: str) -> str:
    return _SIGNS.sub("", _folded(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
