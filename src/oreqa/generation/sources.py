"""The passages that questions are made from: those of an index or of a data file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from oreqa.arguments import as_index_folder, as_path
from oreqa.core import Passage
from oreqa.datasets.load import load_passages
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.index.passages import index_data, index_folder
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.paths import is_index
from oreqa.progress import Progress


@dataclass(frozen=True, slots=True)
class PassageSource:
    """Passages to ask about, a ``fingerprint`` of their content, and the ``index`` that searches them, if needed."""

    passages: list[Passage]
    fingerprint: str
    index: Index | None = None


@contextmanager
def open_source(
    out: Path,
    index: str | Path | None,
    data: str | Path | None,
    model: str | Path | None,
    searched: bool,
    device: str,
    progress: Progress,
) -> Iterator[PassageSource]:
    """Open the ``index``, or index the ``data`` there, by default next to ``out``.

    The paragraphs of a file that are not to be ``searched`` are only read; documents of a BEIR folder are indexed in order
    to split them. Raises InputError if neither is named, and for an ``index`` or a ``model`` that would be ignored.
    """
    if index is None and data is None:
        raise InputError("name an index or data to make questions from")
    folder = Path(data) if data is not None and as_path(data, "data").is_dir() else None
    corpus = ("corpus.jsonl", "corpus.jsonl.gz")
    if folder and not is_index(folder) and not any((folder / name).is_file() for name in corpus):
        raise InputError(f"{data}: it is no BEIR folder; make an index of documents with oreqa index, and name it as index")
    read_only = data is not None and not searched and folder is None
    reason = "round_trip is 0" if read_only else "no data is named"
    for name, value in (("index", index if read_only else None), ("model", model if read_only or data is None else None)):
        if value is not None:
            raise InputError(f"{name} = {value} would be ignored: {reason}, and nothing is indexed")
    if data is None:
        assert index is not None
        opened = Index.open(as_index_folder(index), device)
    elif read_only:
        passages = load_passages(Path(data))
        texts = json.dumps([(passage.title, passage.text) for passage in passages])
        yield PassageSource(passages, hashlib.sha256(texts.encode()).hexdigest())
        return
    else:
        settings = Settings(model=str(model or DEFAULT_ENCODER))
        opened = index_data(index_folder(index, out), Path(data), settings, device, progress)
    with opened:
        yield PassageSource(list(opened.passages()), f"{opened.content_fingerprint} {opened.fingerprint}", opened)
