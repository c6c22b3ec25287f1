"""Asks the index that `make demo` builds ten questions: eight that its documents answer, and two that they do not.

`python demo/ask.py INDEX --svg docs/images/demo.svg` draws the picture in the README instead.
"""

from __future__ import annotations

import argparse
import io
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich.console
from rich.text import Text

from oreqa import Answerer
from oreqa.cli.answers import render_answer
from oreqa.cli.console import Console, SourceLine
from oreqa.cli.hits import names_of, place_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oreqa.answering.reply import Reply

QUESTIONS = (
    "Who was the first person treated with insulin?",
    "Which eruption caused the year without a summer?",
    "Why must dogs not eat chocolate?",
    "How much does the Eiffel Tower weigh?",
    "How much does a ticket to the Eiffel Tower cost?",
    "Who decoded the dance of the bees?",
    "How old was Louis Braille when he devised his alphabet?",
    "Who invented the telephone?",
    "Which licence covers the code of oreqa?",
    "Which option removes deleted files from an index?",
)
PICTURED = QUESTIONS[:5]
PICTURE_COLUMNS = 92


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path, help="the index that the Makefile's target demo builds")
    parser.add_argument("--svg", type=Path, help="write a picture of the first answers to this file")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    answerer = Answerer.load(arguments.index)
    loaded = time.perf_counter()
    if arguments.svg:
        arguments.svg.write_text(draw(zip(PICTURED, answerer.reply(PICTURED, k=1), strict=True)))
        return
    replies = answerer.reply(QUESTIONS, k=1)
    answered = time.perf_counter()
    show(Console(), zip(QUESTIONS, replies, strict=True))
    loading, answering = f"{loaded - begun:.1f} seconds", f"{answered - loaded:.1f} seconds"
    print(f"Loaded index and models in {loading}, answered {len(QUESTIONS)} questions in {answering}. Ask your own:")
    print(f'.venv/bin/oreqa ask "How long is a marathon?" --index {arguments.index}')


def show(console: rich.console.Console, replies: Iterable[tuple[str, Reply]]) -> None:
    """Prints questions, each with its answer in its sentence, or with the passage that came nearest."""
    for question, reply in replies:
        console.print(Text(f"? {question}", "bold cyan"))
        if reply.answers:
            console.print(render_answer(reply.answers[0], whole=False), crop=False)
            continue
        console.print(Text("     no answer found", "bold yellow"))
        for hit in reply.nearest[:1]:
            place = place_text(hit.passage, hit.sentence.start)
            console.print(SourceLine(f"nearest: {place}", names_of(hit.passage), 5, "dim"), crop=False)
        console.print()


def draw(replies: Iterable[tuple[str, Reply]]) -> str:
    """The answers as an SVG picture of a terminal. It names no web font, so that looking at it fetches nothing."""
    console = rich.console.Console(record=True, file=io.StringIO(), width=PICTURE_COLUMNS, markup=False, highlight=False)
    console.print(Text("$ make demo", "bold"))
    console.print()
    show(console, replies)
    picture = console.export_svg(title="oreqa", unique_id="demo")
    return re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    main()
