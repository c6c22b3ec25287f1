"""Source code: comments and docstrings as text, with the lines that define what they explain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oreqa.core import Document, Place
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.markup import LONGEST_LINE_WITH_MARKS
from oreqa.corpus.formats.places import SourcePlaces

CODE_SUFFIXES = (
    *(".py", ".pyi", ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".java", ".js", ".mjs", ".jsx", ".ts", ".tsx", ".go", ".rs"),
    *(".rb", ".pl", ".pm", ".php", ".cs", ".kt", ".swift", ".scala", ".lua", ".jl", ".sh", ".bash", ".sql", ".el", ".hs"),
)
"""Extensions of the supported languages."""

_LEXED_AS = {".pl": ".perl", ".pm": ".perl"}
"""Extensions that pygments assigns to another language: Prolog, Promela."""

_MARKS = re.compile(
    r"[ \t]*(?:/\*+!?|\*+/|\*(?!\*)|//+[!/]?|#+!?|--+|;+|%+|[rRuUbB]{0,2}(?:\"\"\"|\'\'\')|=(?:begin|end|cut|pod)\b)?[ \t]?"
)


_PREFIXES = ("", "r", "u", "b", "rb", "br")
_DEFINES = frozenset(
    ("function", "class", "def", "fn", "func", "fun", "interface", "struct", "enum", "trait", "type", "module", "sub")
)
"""Words before the name that they define."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A comment or a defining line, from ``start`` to ``end`` in characters of the file."""

    start: int
    end: int
    is_comment: bool


def read_source_code(data: bytes, path: Path) -> Document:
    """Read source code. Everything but comments and definitions is omitted and counted."""
    source = decode(data)
    builder = TextBuilder(path)
    builder.start_page("", count_words(source))
    places = SourcePlaces(source)
    block, spots, last, last_end = "", list[Place](), -1, 0
    for piece in _pieces(source, path.name):
        text = source[piece.start : piece.end]
        shown = _without_marks(text) if piece.is_comment else text.strip()
        if not re.search(r"\w", shown) or source.startswith("#!", piece.start):
            continue
        builder.leave_out("code", source[last_end : piece.start])
        last_end = piece.end
        line = places.line(piece.start)
        if block and line - last > 1:  # other text is in between
            builder.add_block(block, spots)
            block, spots = "", []
        places.go_to(piece.start)
        block += "\n" if block else ""
        spots += [replace(spot, start=len(block) + spot.start) for spot in places.find(shown)]
        block += shown
        last = places.line(piece.end - 1)
    builder.add_block(block, spots)
    builder.leave_out("code", source[last_end:])
    return builder.document(path.name)


def _pieces(source: str, name: str) -> Iterator[_Piece]:
    """Yield a file's comments and the lines that define functions and classes, in order and without overlap."""
    lines: set[int] = set()  # starts of lines that define something or have a comment beside code
    comments: list[tuple[int, int]] = []
    for offset, kind, value in _tokens(source, name):
        begin = source.rfind("\n", 0, offset) + 1
        if kind == "comment":
            if source[begin:offset].strip().lower() not in _PREFIXES:
                lines.add(begin)
            elif comments and not source[comments[-1][1] : offset].strip(" \t"):  # of the next line, whose end it includes
                comments[-1] = (comments[-1][0], offset + len(value))
            else:
                comments.append((offset, offset + len(value)))
        else:
            lines.add(begin)
    pieces = [_Piece(start, end, True) for start, end in comments]
    for begin in lines:
        end = source.find("\n", begin)
        end = len(source) if end < 0 else end
        pieces.append(_Piece(begin, end, False))
    last_end = 0
    for piece in sorted(pieces, key=lambda piece: (piece.start, -piece.end)):
        if piece.start >= last_end and piece.end > piece.start:
            yield piece
            last_end = piece.end


def _tokens(source: str, name: str) -> Iterator[tuple[int, str, str]]:
    """Yield the offset, kind and text of comments and of names being defined."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.token import Comment, Name, String

    before = ""
    suffix = Path(name).suffix.lower()  # TOOL.PY is Python as well
    lexer: Any = get_lexer_for_filename(f"name{_LEXED_AS.get(suffix, suffix)}")
    for offset, kind, value in lexer.get_tokens_unprocessed(_without_long_lines(source)):
        if (kind in Comment and kind not in Comment.Preproc and kind not in Comment.PreprocFile) or kind in String.Doc:
            yield offset, "comment", value[: max(0, len(source) - offset)]  # without the line end that was added
        elif kind in Name.Function or kind in Name.Class or (kind in Name and before in _DEFINES):
            yield offset, "name", value
        before = value if value.strip() else before


def _without_long_lines(source: str) -> str:
    """Return the source with a line end, and spaces for generated lines, whose length takes pygments quadratic time."""
    lines = (line if len(line) <= LONGEST_LINE_WITH_MARKS else " " * len(line) for line in source.split("\n"))
    return "\n".join(lines) + "\n"


def _without_marks(comment: str) -> str:
    """Return a comment's text without its line marks."""
    lines = [_without_end(_MARKS.sub("", line, count=1).rstrip()) for line in comment.strip().split("\n")]
    return "\n".join(lines).strip("\n")


def _without_end(line: str) -> str:
    if line.endswith("*/"):
        return line[:-1].rstrip("*").rstrip()
    return line.removesuffix('"""').removesuffix("'''").rstrip()
