"""Answers and hits as HTML, which notebooks show instead of the repr.

It is made from the result of ``to_dict``. Colours are the notebook's, for light and dark pages. It needs no style sheet or
script: where both are stripped, as on GitHub, the words are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from oreqa.core import Range
from oreqa.visible import visible

_BOX = "margin:.5em 0;padding:.1em 0 .1em .8em;border-left:3px solid rgba(128,128,128,.45);max-width:60em;line-height:1.5"
_MARK = "background:rgba(255,196,0,.4);color:inherit;border-radius:2px;padding:0 .1em"
_SMALL = "font-size:.86em;opacity:.75"
_PREFORMATTED = "white-space:pre-wrap;overflow-wrap:anywhere"
_ROWS = 3
"""Rows shown as proof of a computed answer."""


def answer_html(answer: Mapping[str, Any], sure: str, source: str, notes: Sequence[str] = ()) -> str:
    """Return an ``Answer.to_dict()`` as HTML: sentence or block, with marks, ``sure``, ``source`` and ``notes``."""
    block, computation, sentence = answer["block"], answer["computation"], answer["sentence"]
    marks = [(span["start"], span["end"]) for span in answer["spans"]] or [(answer["start"], answer["end"])]
    text = answer["whole_text"]
    parts: list[str] = []
    if answer["form"] == "block" and block:
        parts = [_small(sure), *_pieces(block["pieces"], marks)]
    else:
        parts = [f'<div dir="auto"><b>{_escaped(text)}</b> <span style="{_SMALL}">{_escaped(sure)}</span></div>']
    if computation:
        parts += [_text(row["text"]) for row in computation["rows"][:_ROWS]]
        left = len(computation["rows"]) - _ROWS
        parts += [_small(f"and {left:,} more")] if left > 0 else []
    elif answer["form"] != "block" and answer["text"] != sentence["text"]:
        parts.append(_marked(sentence, marks))
    title = " > ".join(filter(None, (answer["title"], answer["heading"])))
    parts.append(_small(source, title))
    parts += [_small(note) for note in notes]
    return _box(parts)


def hit_html(hit: Mapping[str, Any], source: str) -> str:
    """Return a hit of ``Reply.to_dict()`` as HTML: its sentence and its ``source``."""
    title = " > ".join(filter(None, (hit["title"], hit["heading"])))
    return _box([_text(hit["sentence"]["text"]), _small(source, title)])


def note_html(text: str) -> str:
    """Return a line that does not belong to an answer."""
    return f"<div>{_escaped(text)}</div>"


def _box(parts: Sequence[str]) -> str:
    return f'<div style="{_BOX}">{"".join(parts)}</div>'


def _small(text: str, title: str = "") -> str:
    """Return a side note, and a title with its own text direction."""
    shown = f'<bdi dir="ltr">{_escaped(text)}</bdi>' + (f" · <bdi>{_escaped(title)}</bdi>" if title else "")
    return f'<div style="{_SMALL};overflow-wrap:anywhere">{shown}</div>'


def _text(text: str) -> str:
    return f'<div dir="auto">{_escaped(text)}</div>'


def _marked(stretch: Mapping[str, Any], marks: Sequence[Range], style: str = "") -> str:
    """Return a part of a document in which the ranges ``marks``, characters of the document in order, are marked."""
    text: str = stretch["text"]
    parts, end = list[str](), 0
    for mark in marks:
        first, last = (min(len(text), max(end, place - stretch["start"])) for place in mark)
        if first < last:
            parts.append(_escaped(text[end:first], bool(style)))
            parts.append(f'<mark style="{_MARK}">{_escaped(text[first:last], bool(style))}</mark>')
            end = last
    parts.append(_escaped(text[end:], bool(style)))
    styled = f' style="{style}"' if style else ""
    return f'<div dir="auto"{styled}>{"".join(parts)}</div>'


def _pieces(pieces: Sequence[Mapping[str, Any]], marks: Sequence[Range]) -> Iterator[str]:
    """Yield the pieces of a block, with [...] where text between them was omitted."""
    for piece in pieces:
        if piece["cut"]:
            yield _small("[...]")
        yield _marked(piece, marks, _PREFORMATTED)


def _escaped(text: str, lines: bool = True) -> str:
    """Escape a text for HTML. Line breaks and tabs, which a page shows as spaces, are kept in the pieces of a block."""
    return escape(visible(text, lines=lines))
