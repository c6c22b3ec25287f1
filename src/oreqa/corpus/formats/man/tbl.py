"""Tables in manual pages, as read by tbl."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from oreqa.corpus.formats.man.roff import Strings

_TAB = re.compile(r"\btab\s*\((.)\)")
_FONT = re.compile(r"^\.(?:B|I|BR|BI|RB|IR|RI|SM)\s+")


def table(lines: Sequence[str], strings: Strings) -> list[str]:
    """Return the markup of a table from the lines between its first and last request.

    Options end in a semicolon, column formats in a full stop; then follow rows, whose cells may be blocks of text, and
    further formats, each after a request of its own.
    """
    rest = list(lines)
    separator = "\t"
    if rest and rest[0].rstrip().endswith(";"):
        if match := _TAB.search(rest[0]):
            separator = match[1]
        del rest[0]
    formats = next((number for number, line in enumerate(rest, 1) if line.rstrip().endswith(".")), len(rest))
    rest = rest[formats:]
    parts = ["<table>"]
    row = ""
    in_block = in_formats = False
    for line in rest:
        if in_formats or line.startswith(".T&"):
            in_formats = not (in_formats and line.rstrip().endswith("."))
            continue
        if not in_block and re.fullmatch(r"[.'_=].*|\\\"", line) and separator not in line:
            continue
        text = _FONT.sub("", line) if in_block else line
        if in_block and text.startswith((".", "'")):
            continue
        row += (" " if in_block and row and not row.endswith(separator) else "") + text
        if opens := text.rstrip().endswith("T{"):
            row = row.rstrip().removesuffix("T{")
        in_block = opens or (in_block and not line.startswith("T}"))
        if line.startswith("T}"):
            row = re.sub(r"\s*T\}", "", row)
        if not in_block:
            cells = [strings.text(cell).strip() for cell in row.split(separator)]
            parts.append(
                "<tr>"
                + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in cells if cell not in ("_", "=", "\\^"))
                + "</tr>"
            )
            row = ""
    return [*parts, "</table>"]
