"""Passages that were cut elsewhere as an index, and where their sentences stand in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Sized
from itertools import groupby
from pathlib import Path

import numpy as np

from oreqa.arguments import as_path
from oreqa.arrays import Rows
from oreqa.core import Document, Passage
from oreqa.errors import InputError
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.writer import open_writer
from oreqa.progress import Progress, no_progress, show


def index_passages(
    folder: str | Path,
    passages: Iterable[Passage],
    settings: Settings | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Index:
    """An index in ``folder`` whose passages are these and no others, with their sentences.

    Passages of one document follow each other. What the folder has of them already is not encoded again, and stays where
    it is: ``passage_rows`` says where.
    """
    folder, total = as_path(folder, "an index's folder"), len(passages) if isinstance(passages, Sized) else None
    with (
        show(progress, "encoding passages", total) as advance,
        open_writer(folder, settings or Settings(), device, "a task's passages") as writer,
    ):
        for name, group in groupby(passages, key=lambda passage: passage.document_key):
            cut = list(group)
            document = Document(name, cut[0].title, "\n".join(passage.text for passage in cut))
            writer.add(document, name, cut, advance)
        writer.flush(advance)
        writer.remove_unseen(lambda _: True, prune=True)
        writer.publish()
    return Index.open(folder, device)


def sentence_rows(index: Index, passages: Sequence[Passage]) -> Rows:
    """For every sentence of ``passages`` in turn, its row among the scores of the index (``Index.score_all``).

    Passages are found by their document's key, their place in it, and their text. Raises InputError if the index does not
    hold these passages, cut into these sentences, and no others.
    """
    places: dict[str, list[tuple[Passage, int]]] = defaultdict(list)
    row = 0
    for passage in index.passages():
        places[passage.document_key].append((passage, row))
        row += len(passage.sentences)
    refusal = f"{index.folder}: this index was not made from the task's passages: name another folder, or a new one"
    if sum(map(len, places.values())) != len(passages):
        raise InputError(refusal)
    rows: list[Rows] = []
    for document, group in groupby(passages, key=lambda passage: passage.document_key):
        indexed = iter(places[document])
        for passage in group:
            other, first = next(indexed, (None, 0))
            if other is None or other.text != passage.text or other.sentences != passage.sentences:
                raise InputError(refusal)
            rows.append(np.arange(first, first + len(passage.sentences)))
        places[document] = list(indexed)
    return np.concatenate(rows) if rows else np.zeros(0, np.intp)
