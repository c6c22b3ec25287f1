"""Tasks as indexes: a task's passages go through the same writer and the same search as a user's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.chunks import paragraph_passage
from oreqa.datasets.beir import Beir
from oreqa.datasets.squad import Paragraph, readable_title
from oreqa.index.ingest import cut_document
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.update import Cut, IndexWriter, open_writer


def whole_passages(paragraphs: Iterable[Paragraph], language: str = "en") -> list[Passage]:
    """Every paragraph as one passage, with our own splitter's sentences; documents are named by title and number."""
    return [
        paragraph_passage(Document(f"{paragraph.title}#{number}", readable_title(paragraph.title), paragraph.text), language)
        for number, paragraph in enumerate(paragraphs)
    ]


def index_passages(
    folder: Path,
    passages: Iterable[Passage],
    settings: Settings | None = None,
    device: str = "cpu",
    progress: Callable[[int], None] | None = None,
) -> Index:
    """An index in ``folder`` whose sentences are those of ``passages``, in order.

    Passages of one document follow each other. What the folder has of them already is not encoded again.
    """

    def documents(writer: IndexWriter) -> Iterator[tuple[Document, Cut]]:
        for name, group in groupby(passages, key=lambda passage: passage.document):
            cut = list(group)
            yield Document(name, cut[0].title, "\n".join(passage.text for passage in cut)), partial(_given, cut)

    return _index(folder, documents, settings or Settings(), device, progress)


def index_beir(
    folder: Path, task: Beir, settings: Settings, device: str = "cpu", progress: Callable[[int], None] | None = None
) -> Index:
    """An index of a BEIR corpus, its documents named by their ids and cut as a user's are.

    What the folder has of them already is neither cut nor encoded again.
    """

    def documents(writer: IndexWriter) -> Iterator[tuple[Document, Cut]]:
        for entry in task.corpus:
            text = entry.text if entry.text.strip() else entry.title
            yield Document(entry.id, entry.title, text), partial(cut_document, writer)

    return _index(folder, documents, settings, device, progress)


def _index(
    folder: Path,
    documents: Callable[[IndexWriter], Iterator[tuple[Document, Cut]]],
    settings: Settings,
    device: str,
    progress: Callable[[int], None] | None,
) -> Index:
    """An index of these documents and of no others."""
    with open_writer(folder, settings, device) as writer:
        for document, cut in documents(writer):
            writer.add(document, document.key, cut, progress)
        writer.flush(progress)
        writer.remove_unseen(lambda _: True, prune=True)
        writer.publish()
    return Index.open(folder, device)


def _given(passages: list[Passage], document: Document) -> list[Passage]:
    return passages
