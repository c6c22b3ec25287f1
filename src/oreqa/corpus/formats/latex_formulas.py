"""Dollar signs of LaTeX that begin no formula."""

from __future__ import annotations

import re
from itertools import pairwise

CODE_ENVIRONMENTS = frozenset(
    ("verbatim", "lstlisting", "Verbatim", "alltt", "minted", "verbatim*", "semiverbatim", "listing")
)
"""Environments of code."""

_TOKEN = re.compile(
    rf"""
    \\(?:begin|end)\s*\{{(?P<code>{"|".join(map(re.escape, sorted(CODE_ENVIRONMENTS)))})\}}
    |\\(?:verb\*?|lstinline)(?P<mark>[^\w\s*{{\[])[^\n]*?(?P=mark)
    |\\.
    |%[^\n]*
    |(?P<blank>\n[ \t]*\n)
    |(?P<dollar>\$)
    """,
    re.DOTALL | re.VERBOSE,
)


def escape_odd_dollars(source: str) -> str:
    r"""Escape the last dollar sign of each paragraph that has an odd number of them.

    TeX ends a formula with its paragraph. A parser that does not would read the rest of the file as formulas where it has
    text, and as text where it has formulas. Code, comments and escaped signs do not count.

    Examples:
        >>> escape_odd_dollars("It costs 5$.\n\nThen $a$ holds.")
        'It costs 5\\$.\n\nThen $a$ holds.'
    """
    odd, dollars, code = list[int](), list[int](), ""
    for token in _TOKEN.finditer(source):
        if token["code"]:
            is_begin = token.group().startswith("\\begin")
            if not code and is_begin:
                code = token["code"]
            elif code == token["code"] and not is_begin:
                code = ""
        elif not code and token["dollar"]:
            dollars.append(token.start())
        elif not code and token["blank"]:
            odd += dollars[-1:] if len(dollars) % 2 else []
            dollars = []
    odd += dollars[-1:] if len(dollars) % 2 else []
    bounds = [0, *odd, len(source)]
    return "\\".join(source[begin:end] for begin, end in pairwise(bounds))
