r"""Code within lines of LaTeX: ``\lstinline``, ``\mintinline`` and ``\Verb``, written as ``\verb``."""

from __future__ import annotations

import re

from oreqa.corpus.formats.latex_formulas import CODE_ENVIRONMENTS

_LONGEST = 2000
"""Most characters of code in braces."""

_MARKS = "|!+;/@:=?\"'&^~"
"""Characters between which code may stand."""

_OPTIONS = r"(?:\s*+\[[^\[\]]{0,300}\])?+"
_TOKEN = re.compile(
    rf"""
    \\begin\s*\{{(?P<environment>{"|".join(map(re.escape, sorted(CODE_ENVIRONMENTS)))})\}}
    |\\verb\*?(?P<mark>[^\w\s*{{])[^\n]*?(?P=mark)
    |\\(?:lstinline|Verb\*?|mintinline{_OPTIONS}\s*+\{{[^{{}}]{{0,50}}\}}){_OPTIONS}\s*+(?P<opening>[^\w\s*}}\\\[])
    |\\.
    |%[^\n]*
    """,
    re.DOTALL | re.VERBOSE,
)


def inline_code_as_verb(source: str) -> str:
    r"""Return the source with every piece of code within a line as ``\verb``, without the options of its command.

    Examples:
        >>> print(inline_code_as_verb(r"Call \lstinline[language=C]{f({x})} or \mintinline{c}!g!."))
        Call \verb|f({x})| or \verb!g!.
    """
    parts: list[str] = []
    done = position = 0
    while token := _TOKEN.search(source, position):
        position = token.end()
        if token["environment"]:
            end = source.find(f"\\end{{{token['environment']}}}", position)
            position = len(source) if end < 0 else end
        elif opening := token["opening"]:
            end = _closing_brace(source, position) if opening == "{" else source.find(opening, position)
            code = source[position : max(end, position)]
            if end < 0 or (opening != "{" and "\n" in code):
                continue
            code = " ".join(code.split("\n"))
            mark = next((mark for mark in (opening, *_MARKS) if mark != "{" and mark not in code), None)
            if mark is not None:
                parts += [source[done : token.start()], f"\\verb{mark}{code}{mark}"]
                done = position = end + 1
    return "".join([*parts, source[done:]])


def _closing_brace(source: str, position: int) -> int:
    """Return the offset of the brace that closes one before ``position``; -1 if there is none."""
    depth = 1
    for offset in range(position, min(len(source), position + _LONGEST)):
        depth += {"{": 1, "}": -1}.get(source[offset], 0)
        if depth == 0:
            return offset
    return -1
