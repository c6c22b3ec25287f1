"""Indexes ready-made passages and data files, and maps the passages' sentences to score rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import closing
from itertools import groupby
from pathlib import Path

import numpy as np

from oreqa.arguments import as_index_folder
from oreqa.arrays import Rows
from oreqa.core import Document, Passage
from oreqa.datasets.beir import Entry, load_corpus
from oreqa.datasets.load import load_passages
from oreqa.errors import InputError
from oreqa.index.generations import with_newest
from oreqa.index.search import Index
from oreqa.index.store import Settings, open_documents, read_setting
from oreqa.index.writer import open_writer
from oreqa.paths import is_index
from oreqa.progress import Progress, no_progress, show


def index_passages(
    folder: str | Path,
    passages: Iterable[Passage],
    settings: Settings | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> Index:
    """Build an index in ``folder`` of exactly these passages, with their sentences.

    Passages of one document must be adjacent. Passages already in the folder are not encoded again and keep their place,
    which ``sentence_rows`` returns.
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
    """Build an index of exactly a BEIR corpus, with documents named by their ids and split like a user's.

    The title of a document without text becomes its text. What the folder already has is neither split nor encoded again.
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
    """Build an index of a SQuAD or MRQA file, one passage per paragraph, or of a BEIR folder's documents (index_corpus).

    Questions in the data are ignored. Raises InputError for data that cannot be read or contain no text.
    """
    if data.is_dir():
        return index_corpus(folder, load_corpus(data), settings, device, progress)
    passages = load_passages(data)
    if not any(passage.text.strip() for passage in passages):
        raise InputError(f"{data}: it holds no paragraph with text")
    return index_passages(folder, passages, settings, device, progress)


def contains_documents(folder: Path) -> bool:
    """Return whether a folder is an index of a user's documents, not of a task's passages. Raises IndexStateError."""
    if not is_index(folder):
        return False
    with closing(with_newest(folder, open_documents)) as database:
        return read_setting(database, "holds") == "documents"


def index_folder(index: str | Path | None, out: Path) -> Path:
    """Return the folder of the data's index: ``index``, or one next to the output file ``out``."""
    return out.with_name(f"{out.name}.index") if index is None else as_index_folder(index)


def _index(
    folder: str | Path,
    documents: Iterable[tuple[Document, list[Passage] | None]],
    total: int | None,
    settings: Settings | None,
    device: str,
    progress: Progress,
) -> Index:
    """Index documents, with ready-made passages or split here, replacing the folder's content."""
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
    """Return, for every sentence of ``passages`` in turn, its row in the index's scores (``Index.score_all``).

    Passages are identified by document key, place in the document, and text. Raises InputError unless the index contains
    exactly these passages, split into these sentences.
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
