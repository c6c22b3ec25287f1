"""Subtitles (SubRip, WebVTT, SubStation Alpha): the spoken text, with the times as places."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from oreqa.core import Document, Place
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.decode import decode
from oreqa.errors import DocumentError

_PAUSE = 3000
"""Milliseconds without speech that end a paragraph."""

_PARAGRAPH = 400
"""Characters after which a paragraph ends with the sentence."""

_TAG = re.compile(r"<[^<>]*>|\{[^{}]*\}")
_BREAK = re.compile(r"\\[Nnh]")
_FORMATS = {".srt": "srt", ".vtt": "vtt", ".ass": "ass"}


def read_subtitles(data: bytes, path: Path) -> Document:
    """Read subtitles. Consecutive ones form a paragraph; places are times, such as "0:01:23".

    Raises DocumentError if there are none.
    """
    from pysubs2 import SSAFile

    try:
        source = _without_gaps(decode(data))
        # Tags are removed here: the library takes quadratic time for unclosed ones.
        subtitles = SSAFile.from_string(source, format_=_FORMATS[path.suffix.lower()], keep_html_tags=True)
    except Exception as error:  # pysubs2 has errors of its own and raises others on damaged files
        raise DocumentError("it holds no subtitles that can be read") from error
    builder = TextBuilder(path)
    events = sorted((event for event in subtitles if not event.is_comment), key=lambda event: event.start)
    texts = [(event, _text(event)) for event in events]
    builder.start_page("", sum(count_words(text) for _, text in texts))
    paragraph, places, end = "", list[Place](), 0
    before = ""
    for event, text in texts:
        if not text or text == before:  # lines that roll up are repeated
            continue
        before = text
        is_over = len(paragraph) > _PARAGRAPH and paragraph.endswith((".", "!", "?", "…", "♪"))
        if paragraph and (event.start - end > _PAUSE or is_over):
            builder.add_block(paragraph, places)
            paragraph, places = "", []
        paragraph += "\n" if paragraph else ""
        places.append(Place(len(paragraph), _time(event.start)))
        paragraph, end = paragraph + text, event.end
    builder.add_block(paragraph, places)
    return builder.document()


def _without_gaps(source: str) -> str:
    """Return a file's lines with at most one empty line in a row: longer gaps take the library quadratic time."""
    lines: list[str] = []
    for line in source.split("\n"):
        if line.strip() or not lines or lines[-1]:
            lines.append(line.rstrip())
    return "\n".join(lines)


def _text(event: Any) -> str:
    """Return the text of a subtitle on one line."""
    return " ".join(unescape(_BREAK.sub(" ", _TAG.sub("", event.text))).split())


def _time(milliseconds: int) -> str:
    seconds = max(0, milliseconds) // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
