"""The entries of references: an option, a setting or a command, and its description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from oreqa.text.names import LONGEST_LINE, all_names, is_name, key_of

_FIRST_LINE = re.compile(r"(?:\A|(?<=\n\n))[ \t]*(?P<line>\S.*?)[ \t]*(?=\n|\Z)")
"""The first line of a paragraph."""

_LINE = re.compile(r"^[ \t]*(?P<line>\S.*?)[ \t]*$", re.MULTILINE)

_NUMBER = re.compile(r"[\d.]+\s+")
"""The number before a name in a heading."""

_SETTING = re.compile(r"(?P<name>[A-Za-z][\w.-]*):(?:\s+(?P<value>[<\[])?.*)?")
"""A name and its value, as "port: <number>" and "num-threads: 4"."""

_TERM = re.compile(
    r"[A-Za-z][\w.]*(?:::?\w[\w.]*)*(?:[_-][\w.-]+(?:=\S*|(?: \S+){0,3}|(?: [<\[{].*[>\]}])? ?\S+)|=\S+|(?: [a-z]\w*)?)"
    r"(?: ?[<\[{(].*[>\]})])?"
)
"""A name with a placeholder for its value, above its description, as "threshold count" and "fsync=int"."""

_VALUE = r"(?:<[^<>\n]*>|\[[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*\]|\{[^{}\n]*\})"
"""A placeholder for a value, in brackets."""

_COMMAND = re.compile(rf"[a-z][\w-]*(?: [a-z][\w-]*){{0,3}}(?P<values>(?: ?(?:{_VALUE}|\.{{3}}|\||/))+)?")
"""Words of a command or setting with placeholders for its values, as "set weight <server>"."""

_WORDS = re.compile(r"[A-Za-z][\w.-]*(?: (?![A-Z]+\b)[A-Za-z][\w.-]*){0,3}")
"""The words at the beginning of such a line."""

_ROW = re.compile(
    rf"^[ \t]*(?P<line>[^\s<\[{{](?:[^\n<\[{{]|{_VALUE})*?)(?: {{2,}}|\t[ \t]*| [:–—|] )(?=[^\s<\[{{-])", re.MULTILINE
)
"""A name with its description on the same line."""

FEWEST_SAID, MOST_NAME_WORDS = 3, 4
"""The fewest words after a gap that form a description, whatever follows below; the most words of a name with its value."""

_SINGLE = _FIRST = re.compile(r"[A-Za-z][\w.-]*(?:::?\w[\w.-]*)*")

_LONG_OPTION = re.compile(r"--?[A-Za-z][\w-]*[ =]?[<\[{].{,200}")
"""An option with the alternatives of its value."""

_MAYBE = re.compile(r"--\[([\w-]+)\]([\w-]+)")
"""An option with an optional part, as "--[no-]color"."""

_OPTION = re.compile(rf"(?:^|(?<=[\s,/|]))-[^\s=\[<{{(,|]+(?:{_VALUE})*")
_BETWEEN = re.compile(rf"(?:[ =]?(?:[^\s:'\"-][^\s:'\"]*|{_VALUE}))?\s*(?:[,/|]|or|and)?")
_NO_NAMES = re.compile(r"\\\s*\Z|[.;] [A-Z]")
"""An option in a line, separators between options of one entry, and signs of code and of prose."""

_ENDS = frozenset(".:;)?!")
_QUOTES = "`'\"‘’“”"
_INSIDE, _CAMEL = re.compile(r"\w[-_:]\w"), re.compile(r"[A-Z]*[a-z]+[A-Z]\w*")


_Start = tuple[set[str], set[str], int, int]
"""Names, parts, and the offsets where an entry and its description begin."""


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """An entry of a text: ``text[start:end]``, whose description of the ``names`` begins at ``body_start``.

    ``parts`` are other names at the beginning of the line: "set" of "set weight <server>". A row has the name and its
    description on one line.
    """

    names: frozenset[str]
    parts: frozenset[str]
    start: int
    end: int
    body_start: int
    is_row: bool = False

    def matches(self, queried: set[str]) -> int:
        """Return how well the names match the queried ones, as ``key_of`` writes them.

        3 for whole names with their dashes, 2 without dashes, 1 for the beginning of a name, 0 for no match.
        """
        for names, best in ((self.names, 3), (self.parts, 1)):
            if any(name in names or (name[0] != "-" and name in _bare(names)) for name in queried):
                return best
            if not _bare(queried).isdisjoint(_bare(names)):
                return min(best, 2)
        return 0


def find_entries(heading: str, text: str, queried: set[str]) -> list[ReferenceEntry]:
    """Return the entries of a text.

    They are paragraphs that begin with a name. If these match the ``queried`` names less well, they are lines that are a
    name, or rows of a name and its description. The heading may name what the beginning is about.
    """
    phrases = any(_begins(match["line"], queried) for match in _FIRST_LINE.finditer(text))
    paragraph_entries = list(_paragraph_entries(heading, text, phrases))
    ways = [paragraph_entries, list(_line_entries(text)), list(_row_entries(text))] if queried else [paragraph_entries]
    return max(ways, key=lambda entries: max((entry.matches(queried) for entry in entries), default=0))


def names_something(line: str) -> bool:
    """Return whether a line is only the beginning of an entry."""
    return _names(line) is not None


def may_name(queried: set[str], text: str) -> bool:
    """Return whether a text contains one of the queried names in any spelling, and so may have its entry."""
    letters = key_of(text)
    return any(name in text if len(name.lstrip("-")) == 1 else name.lstrip("-") in letters for name in queried)


def _bare(names: frozenset[str] | set[str]) -> set[str]:
    return {name.lstrip("-") for name in names}


def _begins(line: str, queried: set[str]) -> bool:
    """Return whether a line is a queried command of one or more words."""
    if not (words := _WORDS.match(line)) or not _COMMAND.fullmatch(line):
        return False
    return not queried.isdisjoint({key_of(words.group()), key_of(line.split()[0])})


def _paragraph_entries(heading: str, text: str, phrases: bool) -> Iterator[ReferenceEntry]:
    """Yield the entries that begin with the first line of a paragraph, and the one the heading is about.

    Names without a line below them, as "--user=NAME" above "--password=WORD", share the next one's entry.
    """
    beginning = _NUMBER.sub("", heading.rpartition(" > ")[2], count=1)
    starts: list[_Start] = []
    if heading_names := _names(beginning) or _joined(beginning):
        starts.append((*heading_names, 0, 0))
    for match in _FIRST_LINE.finditer(text):
        if not (line_names := _names(match["line"], _below(text, match.end()), phrases)):
            continue
        (names, parts), start, body_start = line_names, match.start(), match.end()
        for line in text[body_start:].splitlines()[1:]:
            is_again = line.split()[:1] == match["line"].split()[:1] and len(line.split()) <= MOST_NAME_WORDS
            is_name_too = is_again or _is_alone(line.strip(), single=False)
            if not is_name_too or not (
                next_names := (names, parts) if is_again else _names(line.strip(), line, phrases=True)
            ):
                break
            names, parts, body_start = names | next_names[0], parts | next_names[1], body_start + 1 + len(line)
        if starts and starts[-1][3] and text[starts[-1][3] : start].strip(" \t") == "\n\n":
            before, parts_before, start, _ = starts.pop()
            names, parts = names | before, parts | parts_before
        starts.append((names, parts, start, body_start))
    yield from _closed(sorted([*starts, *_inner(text, starts)], key=lambda row: row[2]), len(text))


def _inner(text: str, starts: Sequence[_Start]) -> Iterator[_Start]:
    """Yield the names with values inside paragraphs that follow the end of a sentence."""
    named = {place for _, _, start, body_start in starts for place in range(start, body_start + 1)}
    for match in _LINE.finditer(text):
        line, before = match["line"], text[: match.start()]
        if match.start() in named or before.rstrip()[-1:] not in _ENDS or before.endswith("\n\n"):
            continue
        command, below = _COMMAND.fullmatch(line), _below(text, match.end())
        if command and command["values"] and below and (line_names := _names(line, below, phrases=True)):
            yield (*line_names, match.start(), match.end())


def _line_entries(text: str) -> Iterator[ReferenceEntry]:
    """Yield the entries of a list of terms inside a text: a line with a name, above its description."""
    starts: list[_Start] = []
    lines = list(_LINE.finditer(text))
    for match, following in pairwise([*lines, None]):
        if match is None or following is None or following.start() > match.end() + 1:
            continue
        line = _unquoted(match["line"])
        if not (line_names := _names(line, following["line"], phrases=True) if _is_alone(line) else None):
            continue
        if starts and starts[-1][-1] + 1 == match.start():
            names, parts, start, _ = starts.pop()
            starts.append((names | line_names[0], parts | line_names[1], start, match.end()))
        else:
            starts.append((*line_names, match.start(), match.end()))
    yield from _closed(starts, len(text))


def _is_alone(line: str, single: bool = True) -> bool:
    """Return whether a line inside a text is only a name with placeholders for its values, or a ``single`` word."""
    command = _COMMAND.fullmatch(line)
    return is_name(line) or bool((single and _SINGLE.fullmatch(line)) or (command and command["values"]))


def _unquoted(line: str) -> str:
    return line[1:-1] if len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES else line


def _row_entries(text: str) -> Iterator[ReferenceEntry]:
    """Yield the entries that are rows: a name, a gap or a colon, and its description."""
    starts = [
        (*line_names, match.start(), match.end())
        for match in _ROW.finditer(text)
        if (line_names := _names(_unquoted(match["line"]), match["line"], phrases=True))
    ]
    yield from _closed(starts, len(text), is_row=True)


def _closed(starts: Sequence[_Start], end: int, is_row: bool = False) -> Iterator[ReferenceEntry]:
    """Yield the entries, each ending where the next one begins."""
    for (names, parts, start, body_start), following in zip(starts, [*(row[2] for row in starts), end][1:], strict=True):
        if start < following:
            yield ReferenceEntry(frozenset(names), frozenset(parts), start, following, min(body_start, following), is_row)


def _joined(heading: str) -> tuple[set[str], set[str]] | None:
    """Return the name in a lower-case heading, as "answer-rotation" or "pid file"; not in a word like "Check-in"."""
    return ({key_of(heading)}, set()) if heading.islower() and _COMMAND.fullmatch(heading) else None


def _below(text: str, end: int) -> str:
    """Return the line below the one that ends at ``end``; "" if it is blank or missing."""
    return text[end + 1 :].partition("\n")[0]


def _has_value(line: str, below: str) -> bool:
    """Return whether a line is a name and its value, as "KeepAlive Yes": a capital inside, or repeated in the next line."""
    words, next_words = line.split(), below.split()
    if not words or not next_words or len(words) > MOST_NAME_WORDS or line[-1] in _ENDS or not _SINGLE.fullmatch(words[0]):
        return False
    return bool(_CAMEL.fullmatch(words[0])) or (next_words[0] == words[0] and len(next_words) <= MOST_NAME_WORDS)


def _is_row(line: str, below: str) -> bool:
    """Return whether a line has a name and its description, rather than a placeholder for its value, as "--up  cmd"."""
    if not (row := _ROW.match(line)):
        return False
    return len(line[row.end() :].split()) >= FEWEST_SAID or not below or bool(_ROW.match(below))


def _names(line: str, below: str = "", phrases: bool = False) -> tuple[set[str], set[str]] | None:
    """Return the names, and parts of them, in the first line of an entry; None for other lines.

    A line with text ``below`` may be a term, and so may a few words if ``phrases`` are asked for.
    """
    setting = _SETTING.fullmatch(line) if len(line) <= LONGEST_LINE else None
    if setting and (setting["value"] or _INSIDE.search(setting["name"])):
        return all_names(setting["name"]), set()
    if _is_row(line, below):
        return None
    if is_name(line) or _LONG_OPTION.fullmatch(line):
        return _option_names(line) if line.startswith("-") else (all_names(line.partition("(")[0]), set())
    if _has_value(line, below):
        return {key_of(line.split()[0])}, set()
    command = phrases and _COMMAND.fullmatch(line) is not None
    if len(line) <= LONGEST_LINE and (command or (below and _TERM.fullmatch(line))):
        first, words = (key_of(way.findall(line)[0]) for way in (_FIRST, _WORDS))
        names = {first} if _INSIDE.search(line.split()[0]) else {words}
        return names, {first, words} - names
    return None


def _option_names(line: str) -> tuple[set[str], set[str]] | None:
    """Return the options named in a line with placeholders for their values; None for a command with its options."""
    line = _MAYBE.sub(r"--\1\2 --\2", line)
    options = list(_OPTION.finditer(line))
    between = [line[before.end() : following.start()] for before, following in pairwise(options)]
    if _NO_NAMES.search(line) or any(" " * 3 in words or not _BETWEEN.fullmatch(words.strip()) for words in between):
        return None
    return {name for option in options for name in all_names(re.sub(_VALUE, "", option.group()))}, set()
