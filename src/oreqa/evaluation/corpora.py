"""A BEIR corpus as an index: its documents go through the same writer and the same search as a user's."""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document
from oreqa.datasets.beir import Beir
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.writer import open_writer
from oreqa.progress import Progress, no_progress, show


def index_beir(folder: Path, task: Beir, settings: Settings, device: str = "cpu", progress: Progress = no_progress) -> Index:
    """An index of a BEIR corpus and of nothing else, its documents named by their ids and split as a user's are.

    What the folder has of them already is neither split nor encoded again.
    """
    with (
        show(progress, "encoding passages") as advance,
        open_writer(folder, settings, device, "a task's passages") as writer,
    ):
        for entry in task.corpus:
            text = entry.text if entry.text.strip() else entry.title
            writer.add(Document(entry.id, entry.title, text), entry.id, advance=advance)
        writer.flush(advance)
        writer.remove_unseen(lambda _: True, prune=True)
        writer.publish()
    return Index.open(folder, device)
