"""Copies an index, or moves it to another engine, without encoding anything again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from oreqa.arguments import as_index_folder
from oreqa.datasets.marks import MARKS_FILE, UNDECIDED_FILE
from oreqa.errors import IndexStateError
from oreqa.index.current import check_empty, name_write_errors, write_lock
from oreqa.index.drafts import begin_draft, passage_ids, shared_documents
from oreqa.index.engines.milvus import MilvusEngine
from oreqa.index.engines.milvus_client import server_uri
from oreqa.index.engines.milvus_writing import write_rows
from oreqa.index.generations import (
    DRAFT,
    damage_message,
    damaged_files,
    link_file,
    link_folder,
    read_manifest,
    require_generation,
    write_manifest,
)
from oreqa.index.publish import link_fitted
from oreqa.index.replacing import clear_folder, drop_draft, publish_draft
from oreqa.index.segments import Segment, merge_segments, open_segments, write_segment
from oreqa.index.store import model_place, open_documents, read_settings, transaction, write_setting
from oreqa.progress import Advance, Progress, no_progress, show

_AT_ONCE = 20_000
"""Passages fetched from a server at a time, which form a segment."""


def copy_index(
    folder: str | Path,
    new: str | Path,
    engine: str | None = None,
    *,
    with_marks: bool = True,
    progress: Progress = no_progress,
) -> int:
    """Copy the index in ``folder`` to the folder ``new``; return the number of its passages.

    Its vectors and words go to the ``engine``, e.g. ``milvus:http://HOST:PORT``; by default they go to the new folder,
    sharing the files of the old one by hard links if it has them. Nothing is encoded again. The copy includes what was
    fitted for the index, a model in its folder and, unless ``with_marks`` is false, people's marks. An interrupted copy
    leaves nothing behind.

    Raises IndexStateError if there is no index, if it is damaged or updated meanwhile, or if a server fails; InputError for
    a folder that is not empty.

    Examples:
        >>> copy_index("kb", "copy-of-kb")
        6
    """
    folder, new = as_index_folder(folder), as_index_folder(new)
    uri = None if engine is None else server_uri(engine)
    generation = require_generation(folder)
    if damaged := damaged_files(generation):
        raise IndexStateError(damage_message(generation / damaged[0]))
    with closing(open_documents(generation)) as database:
        settings = read_settings(database)
        ids = passage_ids(database)
    model = settings.model if model_place(folder, settings.model) != settings.model else ""
    check_empty(new, Path(model).parts[:1])
    draft = new / DRAFT
    with write_lock(new, mode=folder.stat().st_mode & 0o777), name_write_errors(new):
        clear_folder(new)
        draft.mkdir()
        try:
            if settings.engine is None and uri is None:
                manifest = read_manifest(generation)
                for name in manifest:
                    link_file(generation / name, draft / name)
                write_manifest(draft, manifest)
            else:
                server = None
                if settings.engine is not None:
                    server = MilvusEngine(generation, lambda: ids)
                with show(progress, "copying passages", len(ids)) as advance:
                    _write(generation, draft, server, engine, advance)
            if model:
                link_folder(folder / model, new / model)
            publish_draft(new)
        finally:
            drop_draft(new)
    for name in (MARKS_FILE, UNDECIDED_FILE) if with_marks else ():
        if (folder / name).is_file():
            shutil.copyfile(folder / name, new / name)
    return len(ids)


def _write(generation: Path, draft: Path, server: MilvusEngine | None, engine: str | None, advance: Advance) -> None:
    """Write a draft with the passages of a generation, from its segments or the server that holds them."""
    with closing(begin_draft(generation, draft)) as database:
        with transaction(database):
            database.execute("DELETE FROM main.settings WHERE key = 'engine'")
            if engine is not None:
                write_setting(database, "engine", engine)
        ids = passage_ids(database)
    segments = (
        (merge_segments([segment]) for segment in open_segments(generation))
        if server is None
        else (server.fetch(ids[begin : begin + _AT_ONCE]) for begin in range(0, len(ids), _AT_ONCE))
    )
    counted = _counted(segments, len(ids), generation, advance)
    if engine is None:
        for segment in counted:
            write_segment(segment, draft)
    else:
        parts = [segment.words["passage"] for segment in open_segments(generation)] if server is None else []
        lengths = [part.postings.lengths[part.rows(np.arange(len(part)))] for part in parts]
        mean = server.state.words("passage").mean if server else float(np.concatenate([np.zeros(0), *lengths]).mean())
        write_rows(draft, server_uri(engine), None, ids[:0], int(ids[-1]) if len(ids) else 0, counted, lambda: mean)
    link_fitted(generation, draft, ())
    write_manifest(draft, shared_documents(generation, draft))


def _counted(segments: Iterator[Segment], wanted: int, generation: Path, advance: Advance) -> Iterator[Segment]:
    """Yield segments, counting their passages. Raises IndexStateError if some are missing."""
    passages = 0
    for segment in segments:
        yield segment
        advance(len(segment))
        passages += len(segment)
    if passages != wanted:
        raise IndexStateError(f"{generation.parent}: it was updated while it was copied; copy it again")
