"""Recognise the placeholder titles that programs write into file properties."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(
    r"untitled.*|\(?anonymous\)?|document ?\d*|presentation ?\d*|powerpoint[- ]pr.sentation|slide \d+|title"
    r"|microsoft (?:word|powerpoint|excel) - .*"
    r"|.*\.(?:docx?|odt|rtf|tex|dvi|ps|indd|pptx?|xlsx?|pdf|html?|md|qxd|fm|pmd|wpd)|[^ ]*\.\w{3,4}",
    re.IGNORECASE,
)


def real_title(title: str) -> str:
    """Return a title on one line, or "" for a program's placeholder such as "Microsoft Word - plan.doc"."""
    title = " ".join(title.split())
    return "" if _PLACEHOLDER.fullmatch(title) else title
