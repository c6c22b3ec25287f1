"""RTF files: paragraphs, headings by outline level, and tables."""

from __future__ import annotations

import re
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words, real_title
from oreqa.corpus.formats.table_rows import TableRows, looks_like_header
from oreqa.errors import DocumentError

_HEADING, _CELL, _STRUCK, _SOUND = "\ue000", "\ue0ff", "\ue0fd", "\ue0fe"
"""Private-use characters that carry what striprtf drops: a heading's level, counted from the character, the ends of cells,
and where struck-out text begins and ends."""

_BODY = 9
"""The outline level of body text."""

_OUTLINE = re.compile(r"\\outlinelevel([0-8])(?!\d) ?")
_CELL_END = re.compile(r"\\(?:nest)?cell(?![a-z]) ?")
_TITLE = re.compile(r"\{\\title ([^{}]{1,1000})\}")
_SIGN = re.compile(f"[{_HEADING}-{chr(ord(_HEADING) + _BODY)}]")
_STRIKES = re.compile(r"\\(?:(striked?|plain)(\d*)(?![a-z\d]) ?|[\\{}])|([{}])")
_STRUCK_OUT = re.compile(f"{_STRUCK}([^{_SOUND}]*){_SOUND}?")
_UNSTRUCK = re.compile(f"[^\n{_CELL}{_HEADING}-{chr(ord(_HEADING) + _BODY)}]+")
_GAPS = re.compile(r"[\xad\u200b]+")


def read_rtf(data: bytes, path: Path) -> Document:
    """Read an RTF file. Its title comes from its properties. Footnotes, page headers and text boxes are not read.

    Raises DocumentError if it does not begin like RTF.
    """
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("it is not RTF")
    source = data.decode("latin-1")
    title = _TITLE.search(source)
    text = _text(source)
    struck_out = " ".join(_SIGN.sub("", part).replace(_CELL, " ") for part in _STRUCK_OUT.findall(text))
    # Line and cell ends, and heading characters, stay.
    text = _STRUCK_OUT.sub(lambda match: _UNSTRUCK.sub("", match[1]), text).replace(_SOUND, "")
    lines = text.split("\n")
    builder = TextBuilder(path)
    builder.start_page("", sum(map(count_words, lines)) + count_words(struck_out))
    builder.leave_out("struck-out text", struck_out)
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        if _CELL in line:
            rows.append([" ".join(_SIGN.sub("", cell).split()) for cell in line.split(_CELL)[:-1]])
            continue
        if rows:
            _add_table(builder, rows)
            rows = []
        if (sign := _SIGN.search(line)) and len(line) > 1:
            builder.add_heading(ord(sign.group()) - ord(_HEADING) + 1, _SIGN.sub("", line))
        else:
            builder.add_block(line)
    return builder.document(real_title(_text("{" + title[1] + "}")) if title else "")


def _text(source: str) -> str:
    from striprtf.striprtf import rtf_to_text

    marked = _OUTLINE.sub(lambda match: match.group() + chr(ord(_HEADING) + int(match[1])), source)
    text = rtf_to_text(_with_strikes(_CELL_END.sub(_CELL, marked)), errors="replace")
    # Characters beyond the first plane are written as two surrogates.
    return _GAPS.sub("", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _with_strikes(source: str) -> str:
    """Mark where struck-out text begins and ends in the source; it also ends with its group."""
    if "\\strike" not in source:
        return source
    pieces, last_end, is_struck, outer = list[str](), 0, False, list[bool]()
    for token in _STRIKES.finditer(source):
        before = is_struck
        if token[3] == "{":
            outer.append(is_struck)
        elif token[3] == "}":
            is_struck = outer.pop() if outer else False
        elif token[1]:
            is_struck = token[1] != "plain" and token[2] != "0"
        if is_struck != before:
            place = token.end() if is_struck else token.start()
            pieces += [source[last_end:place], _STRUCK if is_struck else _SOUND]
            last_end = place
    return "".join([*pieces, source[last_end:]])


def _add_table(builder: TextBuilder, rows: list[list[str]]) -> None:
    table = TableRows(builder.add_row)
    for number, row in enumerate(rows):
        table.add(row, is_header=number == 0 and looks_like_header(rows))
    table.end()
