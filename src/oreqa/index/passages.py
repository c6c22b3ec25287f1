"""Index ready-made passages and data files; map the passages' sentences to rows of scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import groupby
from pathlib import Path

import numpy as np

from oreqa.arguments import as_index_folder
from oreqa.arrays import Rows
from oreqa.core import Document, Passage
from oreqa.datasets.beir import Entry, load_corpus
from oreqa.datasets.load import load_passages
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
    it is: ``sentence_rows`` says where.
    """

    def documents() -> Iterator[tuple[Document, list[Passage]]]:
        for key, group in groupby(passages, key=lambda passage: passage.document_key):
            cut = list(group)
            yield Document(key, cut[0].title, "\n".join(passage.text for passage in cut)), cut

    return _index(folder, documents(), len(passages) if isinstance(passages, Sized) else None, settings, device, progress)


def index_corpus(
    folder: str | Path,
    corpus: Iterable[Entry],
    settings: Settings | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Index:
    """An index of a BEIR corpus and of nothing else, its documents named by their ids and split as a user's are.

    A document without a text has its title as one. What the folder has already is neither split nor encoded again.
    """
    documents = (Document(entry.id, entry.title, entry.text if entry.text.strip() else entry.title) for entry in corpus)
    return _index(folder, ((document, None) for document in documents), None, settings, device, progress)


def index_data(
    folder: str | Path,
    data: Path,
    settings: Settings | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Index:
    """An index of the paragraphs of a SQuAD or MRQA file, a passage each, or of a BEIR folder's documents (index_corpus).

    Questions that the data holds are not looked at. Raises InputError for data that cannot be read or hold no text.
    """
    if data.is_dir():
        return index_corpus(folder, load_corpus(data), settings, device, progress)
    passages = load_passages(data)
    if not any(passage.text.strip() for passage in passages):
        raise InputError(f"{data}: it holds no paragraph with text")
    return index_passages(folder, passages, settings, device, progress)


def index_folder(index: str | Path | None, out: Path) -> Path:
    """The folder of the data's index: ``index``, or one next to the file ``out`` that is made with it."""
    return out.with_name(f"{out.name}.index") if index is None else as_index_folder(index)


def _index(
    folder: str | Path,
    documents: Iterable[tuple[Document, list[Passage] | None]],
    total: int | None,
    settings: Settings | None,
    device: str,
    progress: Progress,
) -> Index:
    """Index documents, as the passages that they were cut into or else split here, in place of what the folder holds."""
    folder = as_index_folder(folder)
    with (
        show(progress, "encoding passages", total) as advance,
        open_writer(folder, settings or Settings(), device, "a task's passages") as writer,
    ):
        for document, cut in documents:
            writer.add(document, document.key, cut, advance)
        writer.flush(advance)
        writer.remove_unseen(lambda _: True, prune=True)
        writer.publish(advance)
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
