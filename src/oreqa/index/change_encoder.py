"""Changes an index's encoder, which encodes all passages again, or what was fitted for it; the documents stay."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from oreqa.arguments import as_index_folder, as_path, choice
from oreqa.errors import IndexStateError
from oreqa.files import remove, write_json
from oreqa.index import store
from oreqa.index.copying import copy_index
from oreqa.index.current import existing_settings, name_write_errors, write_lock
from oreqa.index.drafts import begin_draft, count_passages, shared_documents
from oreqa.index.encodings import Encodings
from oreqa.index.fitted import IndexFitted, read_index_fitted
from oreqa.index.generations import (
    CHANGES,
    DOCUMENTS,
    DRAFT,
    damage_message,
    damaged_files,
    generation_folder,
    link_file,
    read_manifest,
    require_generation,
    write_manifest,
)
from oreqa.index.publish import complete_draft, link_search_files, note_documents
from oreqa.index.replacing import clear_folder, drop_draft, publish_draft
from oreqa.index.store import Settings
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.session import DEVICES
from oreqa.models.names import FITTED
from oreqa.models.stored import pinned_name
from oreqa.progress import Progress, no_progress, report_kept, show


def change_encoder(
    folder: str | Path,
    model: str | Path,
    device: str = "cpu",
    progress: Progress = no_progress,
    encoded: Path | None = None,
) -> int:
    """Encode all passages of an index with another encoder and publish them at once; return the number of passages.

    Searches use the old vectors until then. After an interruption, call it again with the same model to resume. Passages
    keep their boundaries, which suit the old encoder, and vectors keep their number of dimensions. A ``model`` inside the
    index's folder may be given by its relative path, so that both can be moved together. Encodings by this model are reused
    from another index, ``encoded``. Raises IndexStateError if there is no index, or if it is damaged or being written;
    ModelError for a model that cannot be loaded.
    """
    folder = as_index_folder(folder)
    choice(device, DEVICES, "device")
    require_generation(folder)
    existing = existing_settings(folder) or Settings()
    encoder = Encoder(store.model_place(folder, str(model)), device=device, truncate_dim=existing.truncate_dim)
    with write_lock(folder), name_write_errors(folder):
        generation, draft = require_generation(folder), folder / DRAFT
        if lost := {DOCUMENTS, CHANGES}.intersection(damaged_files(generation)):
            raise IndexStateError(damage_message(generation / lost.pop()))
        source = encoded and require_generation(encoded)
        damaged = damaged_files(source) if source else ()
        clear_folder(folder)
        draft.mkdir()
        try:
            with (
                closing(begin_draft(generation, draft)) as database,
                closing(Encodings(folder, encoder.fingerprint, source, damaged)) as encodings,
            ):
                passages = _encode_draft(database, draft, encoder, pinned_name(str(model)), encodings, progress)
                database.close()
                write_manifest(draft, shared_documents(generation, draft))
                publish_draft(folder)
                encodings.end()
        finally:
            drop_draft(folder)
    return passages


def _encode_draft(
    database: sqlite3.Connection, draft: Path, encoder: Encoder, model: str, encodings: Encodings, progress: Progress
) -> int:
    """Complete a draft that has the documents, adding settings and search files."""
    rows = database.execute("SELECT MIN(id), encoding FROM passages GROUP BY encoding ORDER BY MIN(id)").fetchall()
    missing = [row for row in rows if row[1] not in encodings]
    with show(progress, "encoding passages", len(rows)) as advance:
        report_kept(advance, len(rows) - len(missing))
        with store.transaction(database):
            store.write_setting(database, "model", model)
            store.write_setting(database, "fingerprint", encoder.fingerprint)
            store.write_prompts(database, encoder.prompts)
        note_documents(database)
        complete_draft(database, draft, encodings, lambda batch: encodings.encode(batch, encoder, advance))
    return count_passages(database)


def publish_fitted(folder: Path, change: Callable[[IndexFitted], IndexFitted]) -> None:
    """Publish a generation that differs in what was fitted for the index: ``change`` maps the old value to the new one.

    Raises IndexStateError if there is no index, or if it is damaged or being written.
    """
    require_generation(folder)
    with write_lock(folder), name_write_errors(folder):
        generation, draft = require_generation(folder), folder / DRAFT
        if damaged := damaged_files(generation):
            raise IndexStateError(damage_message(generation / damaged[0]))
        fitted = change(read_index_fitted(generation / FITTED))
        clear_folder(folder)
        draft.mkdir()
        try:
            checksums = {name: row for name, row in read_manifest(generation).items() if name != FITTED}
            for name in checksums:
                link_file(generation / name, draft / name)
            write_json(draft / FITTED, fitted.row())
            write_manifest(draft, checksums)
            publish_draft(folder)
        finally:
            drop_draft(folder)


def undo_fit(index: str | Path) -> bool:
    """Remove what was fitted on an index, so that the weights and probabilities of its models apply again.

    Returns whether there was anything. Raises IndexStateError if there is no index, or if it is being written.
    """
    folder = as_path(index, "an index's folder")
    generation = require_generation(folder)
    if read_index_fitted(generation / FITTED) == IndexFitted():
        return False
    publish_fitted(folder, lambda before: IndexFitted())
    return True


def copy_generation(folder: Path, out: Path) -> None:
    """Make an index in ``out`` from the newest generation of another one, to keep that state or to try another encoder.

    The contents of ``out`` are replaced atomically. Both share the search files and the mode of their folders; what a server
    holds is fetched.
    """
    copy = out.with_name(f"{out.name}.new")
    shutil.rmtree(copy, ignore_errors=True)
    existing = existing_settings(folder)
    if existing is not None and existing.engine is not None:
        copy_index(folder, copy, with_marks=False)
        remove(out)
        copy.rename(out)
        return
    generation, target = require_generation(folder), generation_folder(copy, 1)
    try:
        target.mkdir(parents=True)
        shutil.copymode(folder, copy)
        with closing(begin_draft(generation, target)) as database, store.transaction(database):
            model = store.read_setting(database, "model")  # its location relative to the other folder
            store.write_setting(database, "model", store.model_place(folder.absolute(), model))
        write_manifest(target, {**link_search_files(generation, target), **shared_documents(generation, target)})
        remove(out)
        copy.rename(out)
    except BaseException:
        shutil.rmtree(copy, ignore_errors=True)
        raise
