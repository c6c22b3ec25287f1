"""Tasks as indexes: a task's passages go through the same writer and the same search as a user's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import Beir
from oreqa.datasets.squad import Paragraph, readable_title
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.writer import open_writer


def whole_passages(paragraphs: Iterable[Paragraph], language: str = "en") -> list[Passage]:
    """Every paragraph as one passage, with our own splitter's sentences; documents are named by title and number."""
    return [
        paragraph_passage(Document(f"{paragraph.title}#{number}", readable_title(paragraph.title), paragraph.text), language)
        for number, paragraph in enumerate(paragraphs)
    ]


def index_beir(
    folder: Path, task: Beir, settings: Settings, device: str = "cpu", progress: Callable[[int], None] | None = None
) -> Index:
    """An index of a BEIR corpus and of nothing else, its documents named by their ids and cut as a user's are.

    What the folder has of them already is neither cut nor encoded again.
    """
    with open_writer(folder, settings, device, "a task's passages") as writer:
        for entry in task.corpus:
            text = entry.text if entry.text.strip() else entry.title
            writer.add(Document(entry.id, entry.title, text), entry.id, progress=progress)
        writer.flush(progress)
        writer.remove_unseen(lambda _: True, prune=True)
        writer.publish()
    return Index.open(folder, device)
