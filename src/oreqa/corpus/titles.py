"""Titles in the properties of files, which programs often make up."""

from __future__ import annotations

import re

_MADE_UP = re.compile(
    r"untitled.*|\(?anonymous\)?|document ?\d*|presentation ?\d*|powerpoint[- ]pr.sentation|slide \d+|title"
    r"|microsoft (?:word|powerpoint|excel) - .*"
    r"|.*\.(?:docx?|odt|rtf|tex|dvi|ps|indd|pptx?|xlsx?|pdf|html?|md|qxd|fm|pmd|wpd)|[^ ]*\.\w{3,4}",
    re.IGNORECASE,
)


def real_title(title: str) -> str:
    """A title on one line; "" for one that a program made up, such as "Microsoft Word - plan.doc"."""
    title = " ".join(title.split())
    return "" if _MADE_UP.fullmatch(title) else title
