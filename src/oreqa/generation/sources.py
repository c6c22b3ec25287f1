"""The passages that questions are made from: an index's, or those of a data file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oreqa.arguments import as_path
from oreqa.core import Document, Passage
from oreqa.datasets.beir import load_corpus
from oreqa.datasets.load import load_paragraphs, load_passages
from oreqa.datasets.paragraphs import whole_passages
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.mining.tasks import default_work
from oreqa.progress import Progress


@dataclass(frozen=True, slots=True)
class PassageSource:
    """Passages to ask about, a ``fingerprint`` of their content, and the ``index`` that searches them, if one is needed."""

    passages: list[Passage]
    fingerprint: str
    index: Index | None = None


@contextmanager
def open_source(
    out: Path,
    index: str | Path | None,
    data: str | Path | None,
    work: str | Path | None,
    model: str | Path | None,
    searched: bool,
    device: str,
    progress: Progress,
) -> Iterator[PassageSource]:
    """Open the ``index``, or index the ``data`` in ``work``, by default beside ``out``.

    The paragraphs of a file that are not to be ``searched`` are only read; documents of a BEIR folder are split by indexing
    them. Raises InputError unless one of the two is named, and for a ``work`` or a ``model`` if nothing is indexed.
    """
    if (index is None) == (data is None):
        raise InputError("name either an index or data to make questions from")
    folder = Path(data) if data is not None and as_path(data, "data").is_dir() else None
    if folder and not any((folder / name).is_file() for name in ("corpus.jsonl", "corpus.jsonl.gz")):
        raise InputError(f"{data}: it is no BEIR folder; make an index of documents with oreqa index, and name it as index")
    read_only = data is not None and not searched and folder is None
    if index is not None or read_only:
        reason = "round_trip is 0" if read_only else "an index is named"
        for name, value in (("work", work), ("model", model)):
            if value is not None:
                raise InputError(f"{name} = {value} would be ignored: {reason}, and nothing is indexed")
    if data is None:
        assert index is not None
        opened = Index.open(as_path(index, "an index's folder"), device)
    elif read_only:
        passages = load_passages(Path(data))
        texts = json.dumps([(passage.title, passage.text) for passage in passages])
        yield PassageSource(passages, hashlib.sha256(texts.encode()).hexdigest())
        return
    else:
        place = default_work(out) if work is None else as_path(work, "work")
        opened = index_data(Path(data), place, model or DEFAULT_ENCODER, device, progress)
    with opened:
        yield PassageSource(list(opened.passages()), f"{opened.content_stamp} {opened.fingerprint}", opened)


def index_data(data: Path, work: Path, model: str | Path, device: str, progress: Progress) -> Index:
    """Index the paragraphs of a SQuAD or MRQA file, or the documents of a BEIR folder, in the folder ``work``.

    Questions that the data holds are not looked at. Raises InputError for data that cannot be read.
    """
    if not data.is_dir() and not any(paragraph.text.strip() for paragraph in load_paragraphs(data)):
        raise InputError(f"{data}: it holds no paragraph with text")
    if data.is_dir():
        documents = [Document(entry.id, entry.title, entry.text) for entry in load_corpus(data) if entry.text.strip()]
        index_documents(work, documents, model=model, prune=True, device=device, progress=progress)
        return Index.open(work, device)
    return index_passages(work, whole_passages(load_paragraphs(data)), Settings(model=str(model)), device, progress)
