"""The passages that questions are made from: an index's, or those of a data file."""

from __future__ import annotations

from pathlib import Path

from oreqa.arguments import as_path
from oreqa.core import Document
from oreqa.datasets.beir import load_corpus
from oreqa.datasets.passages import whole_passages
from oreqa.datasets.reqa import load_paragraphs
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.mining.tasks import default_work
from oreqa.progress import Progress


def open_source(
    out: Path,
    index: str | Path | None,
    data: str | Path | None,
    work: str | Path | None,
    model: str | Path | None,
    device: str,
    progress: Progress,
) -> Index:
    """Open the ``index``, or index the ``data`` in ``work``, by default beside ``out``.

    Raises InputError unless one of the two is named, and for a ``work`` or a ``model`` without ``data``.
    """
    if (index is None) == (data is None):
        raise InputError("name either an index or data to make questions from")
    if index is not None:
        for name, value in (("work", work), ("model", model)):
            if value is not None:
                raise InputError(f"{name} = {value} would be ignored: an index is named, and nothing is indexed")
        return Index.open(as_path(index, "an index's folder"), device)
    assert data is not None
    folder = default_work(out) if work is None else as_path(work, "work")
    return index_data(as_path(data, "data"), folder, model or DEFAULT_ENCODER, device, progress)


def index_data(data: Path, work: Path, model: str | Path, device: str, progress: Progress) -> Index:
    """Index the paragraphs of a SQuAD or MRQA file, or the documents of a BEIR folder, in the folder ``work``.

    Questions that the data holds are not looked at. Raises InputError for data that cannot be read.
    """
    with progress("encoding passages", None) as advance:
        if data.is_dir():
            documents = [Document(entry.id, entry.title, entry.text) for entry in load_corpus(data) if entry.text.strip()]
            index_documents(work, documents, model=model, prune=True, device=device, progress=advance)
            return Index.open(work, device)
        return index_passages(work, whole_passages(load_paragraphs(data)), Settings(model=str(model)), device, advance)
