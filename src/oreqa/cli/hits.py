"""Formats search results and the places of texts in documents for people and programs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oreqa.cli.output import one_line, parse_conditions
from oreqa.cli.sources import source_at
from oreqa.errors import InputError
from oreqa.paths import file_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from oreqa.cli.console import SourceLine
    from oreqa.core import Hit, Passage
    from oreqa.index.search import Index

NEAR_VALUES = 5
"""Most values of fields that a message about a condition names."""

EXTRACT = 240
"""Characters of a passage shown around its best sentence."""


def shown_path(document: str) -> str:
    """Return a document's key as its shortest path: from the current folder, from ``~``, or from the root."""
    path = str(file_of(document))
    if not Path(path).is_absolute() or not document.startswith(path):
        return document
    ways = [path]
    with suppress(FileNotFoundError, ValueError):  # the working directory is gone, or on another drive
        ways.insert(0, os.path.relpath(path))
    home = os.path.expanduser("~")  # noqa: PTH111  (Path's raises where there is no home)
    if home not in ("~", os.sep) and Path(path).is_relative_to(home):
        ways.append("~" + path[len(home) :])
    return min(ways, key=len) + document[len(path) :]


def need_match(where: Sequence[str], index: Index) -> None:
    """Raise InputError if no document of an index meets the conditions, as they were typed."""
    from oreqa.arguments import conditions
    from oreqa.index.documents import any_matches

    if where and not any_matches(index.snapshot().select, conditions(parse_conditions(where))):
        raise InputError(no_match(where, index))


def no_match(where: Sequence[str], index: Index) -> str:
    """Return the message that no document meets the conditions.

    Of the conditions that fail alone, it names the documents nearest to a path, or else the folders that the index has
    documents of, and the nearest values of other fields.
    """
    from oreqa.arguments import conditions
    from oreqa.index.documents import any_matches
    from oreqa.index.folders import indexed_folders, listed_folders
    from oreqa.index.similar import similar_documents, similar_values

    line = f"no document matches --where {' --where '.join(where)}"
    select = index.snapshot().select
    failing = [each for each in where if not any_matches(select, conditions(parse_conditions([each])))]
    if not failing:
        return f"{line}; each condition has documents, but no document meets all"
    pairs = [(name, value) for name, _, value in (each.partition("=") for each in failing)]
    paths = [value for name, value in pairs if name == "path"]
    if similar := dict.fromkeys(shown_path(key) for path in paths for key in similar_documents(select, path)):
        return f"{line}; did you mean: {', '.join(similar)}?"
    if folders := indexed_folders(select) if paths else []:
        return f"{line}; folders are: {listed_folders([*map(shown_path, folders)])}"
    near = [f"{name}={near}" for name, value in pairs for near in similar_values(select, name, value)]
    return f"{line}; the nearest are: {', '.join(near[:NEAR_VALUES])}" if near else line


def place_text(passage: Passage, offset: int) -> str:
    """Return the place of a character of a passage's document: the file and its page, anchor or line, if known."""
    place = passage.place(offset)
    return shown_path(passage.document_key) + (place.mark if place else "")


def names_of(passage: Passage) -> str:
    """Return the passage's title and heading; just the heading if it begins with the title, as a page's first may."""
    repeats = f"{passage.heading} ".startswith(f"{passage.title} ")
    title = "" if repeats else passage.title
    return " > ".join(name for name in (title, passage.heading) if name)


def source_line(passage: Passage, offset: int, indent: int, style: str = "cyan") -> SourceLine:
    """Return the place of a character of a passage's document, a link if the terminal has links, and the passage's names."""
    from oreqa.cli.console import SourceLine

    return SourceLine(place_text(passage, offset), names_of(passage), indent, style, source_at(passage, offset).url)


def render_hit(rank: int, hit: Hit, body: str) -> RenderableType:
    """Render a hit for a terminal: rank, score, the ranked ``body``, and the place of its best sentence."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 1))
    head.add_column(justify="right", width=3)
    head.add_column(width=7, justify="right")
    head.add_row(Text(str(rank), "dim"), Text(f"{hit.score:.3f}", "green"), Text(one_line(body)))
    return Group(head, source_line(hit.passage, hit.sentence.start, 12))


def render_near(hit: Hit) -> RenderableType:
    """Render an extract of a passage that was not used as an answer, dimmed."""
    from rich.console import Group
    from rich.text import Text

    from oreqa.cli.console import Indented

    text = Indented(Text(extract(hit), "dim"), 5)
    return Group(text, source_line(hit.passage, hit.sentence.start, 5, "dim cyan"), "")


def extract(hit: Hit, limit: int = EXTRACT) -> str:
    """Return about ``limit`` characters of a passage around its best sentence, cut between words."""
    text = hit.passage.text
    first, last = hit.sentence.start - hit.passage.start, hit.sentence.end - hit.passage.start
    spare = max(0, limit - (last - first)) // 2
    begin = max(0, first - spare)
    end = min(len(text), begin + limit)
    begin = max(0, min(begin, end - limit))
    before, body, after = text[:begin], text[begin:end], text[end:]
    if before and not before[-1].isspace():
        body = body.partition(" ")[2] or body
    if after and not after[0].isspace():
        body = body.rpartition(" ")[0] or body
    return one_line(("… " if before else "") + body.strip() + (" …" if after else ""))


def print_question(question: str) -> None:
    """Print the heading above the results of one of several questions."""
    from rich.text import Text

    from oreqa.cli.console import Console

    Console().print(Text(one_line(question), "bold cyan"))
