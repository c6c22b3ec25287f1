"""Answers with their evidence, for terminals."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from oreqa.cli.hits import EXTRACT, shown_path, source_line
from oreqa.cli.output import one_line, visible
from oreqa.paths import index_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType
    from rich.text import Text

    from oreqa.answer import Answer, Computation
    from oreqa.index.revisions import State

ROWS_SHOWN = 3
"""Table rows shown as proof of a computed answer; JSON has all."""


def render_answer(answer: Answer, whole: bool = True, note: str = "", styled: bool = True) -> RenderableType:
    """Render an answer for a terminal, with its sentence or its ``whole`` passage, and a ``note`` below.

    Unless ``styled``, its text is shown next to its probability even if a block marks it, and stands between asterisks in a
    long quote. Print it with ``crop=False``: the place is never cut off.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from oreqa.cli.console import Indented, unwrapped

    passage, sentence = answer.passage, answer.sentence
    sure = Text(answer.certainty, _STYLES[answer.certainty])
    if answer.percent:
        sure.append(f" {answer.percent}")
    source = source_line(passage, answer.start, 5)
    marks = [Indented(Text(mark, "yellow"), 5) for mark in (*_marks(answer), *([note] if note else []))]
    head = Table.grid(padding=(0, 1))
    head.add_row(sure, Text(one_line(answer.whole_text), "bold"))
    if answer.form == "block":
        blocks = (Indented(_quoted(text, styled), 5) for text in _block_texts(answer))
        return Group(sure if styled else head, *blocks, source, *marks, "")
    if answer.computation:
        return Group(head, *_computation_parts(answer.computation), *marks, "")
    parts: list[RenderableType] = [head]
    if not whole and answer.text != sentence.text:
        text = Text(visible(passage.text, lines=True))
        _mark_spans(text, answer, passage.start, "bold underline")
        quote = unwrapped(text, sentence.start - passage.start, sentence.end - passage.start)
        parts.append(Indented(_quoted(quote, styled), 5))
    if whole and (len(passage.sentences) > 1 or answer.text != sentence.text):
        text = Text(visible(passage.text, lines=True), style="dim")
        text.stylize("not dim", sentence.start - passage.start, sentence.end - passage.start)
        _mark_spans(text, answer, passage.start, "not dim bold underline")
        parts.append(Indented(_quoted(unwrapped(text), styled), 5))
    return Group(*parts, source, *marks, "")


def _mark_spans(text: Text, answer: Answer, offset: int, style: str) -> None:
    """Mark the answer in a text that begins at the document's character ``offset``."""
    for start, end in answer.marked:
        if offset <= start < offset + len(text):
            text.stylize(style, start - offset, end - offset)


def _quoted(quote: Text, styled: bool) -> Text:
    """Return a quote, with asterisks around what is underlined in it if it is long and is not shown ``styled``."""
    if styled or len(quote) <= EXTRACT:
        return quote
    ranges: list[tuple[int, int]] = []
    for span in sorted(quote.spans):
        if "underline" not in str(span.style):
            continue
        if ranges and span.start <= ranges[-1][1]:  # the rest of it, on the next line of the source
            ranges[-1] = ranges[-1][0], max(span.end, ranges[-1][1])
        else:
            ranges.append((span.start, span.end))
    for start, end in reversed(ranges):
        quote = quote[:start].append("**").append_text(quote[start:end]).append("**").append_text(quote[end:])
    return quote


def _marks(answer: Answer) -> Iterator[str]:
    """Yield notes that a newer version of the document, or another document, says otherwise."""
    if answer.newer == answer.passage.document_key:
        yield "older: the mail that quotes this says otherwise"
    elif answer.newer:
        yield f"older: {visible(shown_path(answer.newer))} says otherwise"
    if answer.contradicted_by:
        yield f"contradicted by {visible(shown_path(answer.contradicted_by))}"


def state_note(source: str, state: State, index: Path) -> str:
    """Return what to run if an answer's file has changed since it was indexed; empty if it has not."""
    if state not in ("changed", "gone"):
        return ""
    shown = shown_path(source)
    file = shown if shlex.quote(shown.removeprefix("~")) == shown.removeprefix("~") else shlex.quote(source)
    command = f"oreqa index {file}{index_option(index)}"
    if state == "changed":
        return visible(f"the file was changed after it was indexed; to read it again: {command}")
    return visible(f"the file is gone, or no longer says so; to remove this: {command} --prune")


def _computation_parts(computation: Computation) -> Iterator[RenderableType]:
    """Yield what was computed, the first ``ROWS_SHOWN`` rows that prove it, and their place."""
    from rich.text import Text

    from oreqa.cli.console import Indented

    number, rows = len(computation.rows), computation.basis
    if computation.operation == "count":
        counted = f"{number} different values of {computation.column}" if computation.column else f"{number}"
        yield Indented(Text(f"counted: {counted} of {rows}", "dim"), 5)
    else:
        yield Indented(Text(f"the {computation.operation} {one_line(computation.column)} of {rows}", "dim"), 5)
    for passage, row in computation.rows[:ROWS_SHOWN]:
        yield Indented(Text(one_line(row.text)), 5)
        yield source_line(passage, row.start, 5)
    if number > ROWS_SHOWN:
        yield Indented(Text(f"... and {number - ROWS_SHOWN} more", "dim"), 5)


def _block_texts(answer: Answer) -> Iterator[Text]:
    """Yield the pieces of an answer's block, with its text marked, and [...] for gaps between them."""
    from rich.text import Text

    from oreqa.cli.console import unwrapped

    for piece in answer.block.pieces if answer.block else ():
        if piece.cut:
            yield Text("[...]", "dim")
        text = Text(visible(piece.text, lines=True))
        _mark_spans(text, answer, piece.start, "bold underline")
        yield unwrapped(text)


_STYLES = {
    "sure": "bold green",
    "likely": "bold yellow",
    "weak": "bold red",
    "not calibrated": "dim",
    "computed": "bold green",
    "set by you": "bold green",
}
