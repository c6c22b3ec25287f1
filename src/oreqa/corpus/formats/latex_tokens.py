"""Tokens of LaTeX: code, pairs of braces, and what ``\\iffalse`` leaves out."""

from __future__ import annotations

import re

from oreqa.corpus.formats.latex_formulas import CODE_ENVIRONMENTS

LATEX_TOKEN = re.compile(
    rf"""
    \\begin\s*\{{(?P<code>{"|".join(map(re.escape, sorted(CODE_ENVIRONMENTS)))})\}}
    |\\(?:verb\*?|lstinline)(?P<mark>[^\w\s*{{\[])[^\n]*?(?P=mark)
    |\\(?P<side>begin|end)\s*\{{(?P<environment>[A-Za-z]+\*?)\}}
    |\\(?P<name>[A-Za-z]+)
    |\\.
    |(?P<comment>%[^\n]*)
    |(?P<brace>[{{}}])
    """,
    re.DOTALL | re.VERBOSE,
)
"""What matters where macros are expanded: a whole piece of code, a name, a comment, a brace."""

_WORD = re.compile(r"\\(?P<new>newif\s*+\\)?(?P<name>[A-Za-z@]+)|\\.|%[^\n]*", re.DOTALL)
_CONDITION = re.compile(
    r"if(?:@.*|cat|num|dim|odd|[vhm]mode|inner|void|[vh]box|x|eof|true|false|case|defined|csname|fontchar|pdf|luatex|xetex)?"
)
"""What ``\\fi`` ends; not ``\\iff`` or ``\\ifthenelse``."""


class BracedText:
    """A text with its pairs of braces."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.closing: dict[int, int | None] = {}
        """The offset of each closing brace by that of its opening one; None where it lacks."""
        opened: list[int] = []
        position = 0
        while token := LATEX_TOKEN.search(text, position):
            position = token.end()
            if token["code"]:
                position = end_of_code(text, token)
            elif token["brace"] == "{":
                opened.append(token.start())
                self.closing[token.start()] = None
            elif token["brace"] and opened:
                self.closing[opened.pop()] = token.start()

    def group(self, position: int) -> tuple[int, int] | None:
        """Return the range inside the braces that open at ``position``; None if they do not close."""
        end = self.closing.get(position)
        return None if end is None else (position + 1, end)


def begins_group(text: str, brace: int) -> bool:
    r"""Return whether an opening brace begins a group, and no argument of a macro.

    Examples:
        >>> begins_group(r"\end{center} {", 13), begins_group(r"\textbf{", 7), begins_group(r"\textcolor{red}{", 15)
        (True, False, False)
    """
    begin = max(0, brace - NEAR)
    return not _BEFORE_ARGUMENT.search(text, begin, brace) or bool(_AFTER_ARGUMENTS.search(text, begin, brace))


NEAR = 200
"""Characters before a brace that tell whether it begins an argument."""

_BEFORE_ARGUMENT = re.compile(r"(?:\\[A-Za-z@]+\*?|[\]}])[ \t]*+\n?[ \t]*+\Z")
_AFTER_ARGUMENTS = re.compile(r"\\(?:end\s*\{[^{}]*\}|par|centering|[a-z]*skip|noindent)\s*\Z")


def end_of_code(text: str, begin: re.Match[str]) -> int:
    """Return the offset after an environment of code; the text's end if it is not closed."""
    end = f"\\end{{{begin['code']}}}"
    offset = text.find(end, begin.end())
    return len(text) if offset < 0 else offset + len(end)


def skipped_branches(source: str) -> dict[int, int]:
    r"""Return the end of each skipped part by its offset: the false branches of ``\iffalse``, and ``\fi`` after ``\else``.

    Examples:
        >>> skipped_branches(r"\iffalse a\else b\fi")
        {0: 15, 17: 20}
    """
    ends: dict[int, int] = {}
    opened: list[tuple[int, bool]] = []  # where each condition begins, and whether it is \iffalse
    defined: set[str] = set()
    for word in _WORD.finditer(source):
        name = word["name"] or ""
        if word["new"]:
            defined.add(name)
        elif name in defined or _CONDITION.fullmatch(name):
            opened.append((word.start(), name == "iffalse"))
        elif name in ("else", "fi") and opened:
            begin, is_false = opened[-1]
            if is_false and begin not in ends:
                ends[begin] = word.end()
            elif is_false and name == "fi":
                ends[word.start()] = word.end()
            if name == "fi":
                opened.pop()
    return ends
