"""Raised numbers: powers are kept as superscript digits; footnote marks are dropped."""

from __future__ import annotations

import re
from collections.abc import Set

_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_POWER = re.compile(r"\s*[+−(-]*\d[\d+−()-]*\s*")
_BASE = re.compile(r"(?<![\w.,])(?:10|2|[^\W\d_]{1,2})$")
"""What takes powers rather than footnotes: 10, 2, and units and variables of one or two letters."""
_FRACTION = re.compile(r"\s*([+−-]?\d+(?:[.,/]\d+)+)\s*")


def raised(text: str, before: str, notes: Set[str]) -> str:
    """Return a raised number:

    ``64`` as superscript digits; ``0.5`` and ``1/3``, which have none, as ``^0.5`` and ``^(1/3)``.

    One of the page's ``notes`` is dropped, unless it is the power of a unit or a base, judging by the text ``before``. Any
    other text is unchanged, such as the ``th`` of an ordinal.
    """
    if text.strip() in notes and before.strip() and not _BASE.search(before):
        return ""
    if _POWER.fullmatch(text):
        return text.translate(_RAISED)
    if fraction := _FRACTION.fullmatch(text):
        return f"^({fraction[1]})" if "/" in text else f"^{fraction[1]}"
    return text
