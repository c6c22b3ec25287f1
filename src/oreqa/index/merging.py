"""Merge several indexes into one, which searches as if all of their documents had been indexed there."""

from __future__ import annotations

import os
import shlex
import sqlite3
import stat
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from oreqa.arguments import as_index_folder, as_paths
from oreqa.datasets.marks import MARKS_FILE, UNDECIDED_FILE, Mark, read_marks, set_mark
from oreqa.errors import IndexStateError, InputError
from oreqa.index.current import check_empty, name_write_errors, write_lock
from oreqa.index.drafts import begin_draft, compacted, count_documents, count_passages, shared_documents
from oreqa.index.generations import (
    DRAFT,
    MANIFEST,
    damage_message,
    damaged_files,
    link_folder,
    newest_generation,
    read_manifest,
    with_newest,
    write_manifest,
)
from oreqa.index.joining import join_index
from oreqa.index.publish import link_fitted, note_contents, note_documents
from oreqa.index.removal import exceeds_share
from oreqa.index.replacing import clear_folder, drop_draft, publish_draft
from oreqa.index.segments import Segment, link_segment, open_segments
from oreqa.index.store import SQLITE_ERRORS, model_place, open_documents
from oreqa.index.terms import write_compounds
from oreqa.models.names import FITTED
from oreqa.paths import index_option
from oreqa.progress import Progress, no_progress, report_kept, show

_ALIKE = {
    "passage_tokens": "--passage-tokens",
    "language": "--language",
    "truncate_dim": "--truncate-dim",
    "fingerprint": "its model",
    "prompts": "the prompts of its model",
    "encoded_by": "the oreqa that made it",
}
"""The settings that all indexes must share, and how error messages name them."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """The result of a merge.

    Attributes:
        documents: The number of documents in the merged index.
        passages: The number of its passages.
        added: The number of documents that it did not hold before.
        marks: The number of marks that it took over.
        present: The indexes whose documents it already held.
        unfitted: The indexes whose fitted values it did not take over.
    """

    documents: int
    passages: int
    added: int = 0
    marks: int = 0
    present: list[str] = field(default_factory=list)
    unfitted: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """An open index that is merged."""

    folder: Path
    generation: Path
    settings: dict[str, str]
    segments: list[Segment]

    @classmethod
    def open(cls, folder: Path) -> _Part:
        return with_newest(folder, lambda generation: cls._of(folder, generation))

    @classmethod
    def _of(cls, folder: Path, generation: Path) -> _Part:
        if damaged := damaged_files(generation):
            raise IndexStateError(damage_message(generation / damaged[0]))
        with closing(open_documents(generation)) as database:
            settings = dict(database.execute("SELECT key, value FROM settings"))
        return cls(folder, generation, settings, open_segments(generation))

    @property
    def is_replaced(self) -> bool:
        """Whether its generation was removed after it was opened."""
        return newest_generation(self.folder) != self.generation and not (self.generation / MANIFEST).is_file()

    @property
    def fitted(self) -> bytes:
        """The contents of its file of fitted values; empty if nothing was fitted."""
        path = self.generation / FITTED
        return path.read_bytes() if path.is_file() else b""

    @property
    def model_inside(self) -> str:
        """The path of its model relative to its folder; empty if the model is elsewhere."""
        model = self.settings["model"]
        return model if model_place(self.folder, model) != model else ""


def merge_indexes(
    folder: str | Path, indexes: str | Path | Iterable[str | Path], progress: Progress = no_progress
) -> MergeReport:
    """Merge indexes into a new one, or into one that exists, and publish the result at once. Nothing is encoded again.

    The index in ``folder`` searches as if all documents had been indexed there, in the order of the ``indexes``. These stay
    unchanged, and share their vectors with it where the file system has hard links. It takes over their marks, except those
    saying that an index holds no answer, because another index may hold one. It takes over fitted values if all indexes
    have the same; an existing index keeps its own. An interrupted merge changes nothing and can be repeated, which skips
    indexes whose documents it already holds.

    Raises InputError if an index is named twice; IndexStateError if one is missing or damaged, if their models or settings
    differ, if two hold the same document, or if the folder cannot be written.

    Examples:
        >>> from oreqa import Document, index_documents
        >>> _ = index_documents("kb-2", Document("oak", "Oak", "The oak is eighty years old."))
        >>> merge_indexes("merged", ["kb", "kb-2"]).added
        6
    """
    folder, shards = as_index_folder(folder), [as_index_folder(path) for path in as_paths(indexes)]
    _check_distinct([folder, *shards])
    opened, marks = [_Part.open(shard) for shard in shards], [_marks(shard) for shard in shards]
    if newest_generation(folder) is None:
        model = opened[0].model_inside
        check_empty(folder, Path(model).parts[:1])
    mode = 0o777
    for shard in shards:  # only its owner may enter it without permission to enter all of them
        mode &= stat.S_IMODE(shard.stat().st_mode) | 0o700
    with write_lock(folder, mode=mode), name_write_errors(folder):
        clear_folder(folder)
        existing = [] if newest_generation(folder) is None else [_Part.open(folder)]
        _check_alike([*existing, *opened])
        try:
            merged = _merge(folder, existing, opened, progress)
        except (IndexStateError, OSError, *SQLITE_ERRORS) as error:
            for part in filter(lambda part: part.is_replaced, opened):
                raise IndexStateError(f"{part.folder}: it was updated while it was merged; run the merge again") from error
            raise
        finally:
            drop_draft(folder)
    return replace(merged, marks=_take_marks(folder, marks))


def _check_distinct(folders: Sequence[Path]) -> None:
    places: set[str] = set()
    for folder in folders:
        if (place := os.path.realpath(folder)) in places:
            raise InputError(f"{folder}: this index is named twice; name each once")
        places.add(place)


def _check_alike(parts: Sequence[_Part]) -> None:
    """Raise IndexStateError unless all share the settings in ``_ALIKE`` and hold a user's documents in their folders."""
    first = parts[0]
    for part in parts:
        if (contents := part.settings["holds"]) != "documents":
            raise IndexStateError(f"{part.folder}: this index holds {contents}, which cannot be merged")
        if part.settings.get("engine"):
            raise IndexStateError(f"{part.folder}: a server holds its passages; merge what oreqa copy makes of it")
        for name, meaning in _ALIKE.items():
            if (theirs := part.settings.get(name)) == (ours := first.settings.get(name)):
                continue
            if name == "fingerprint":
                theirs, ours = part.settings["model"], first.settings["model"]
            elif not meaning.startswith("--"):
                theirs = ours = None
            which = f" ({theirs or 'none'}, there {ours or 'none'})" if theirs != ours else ""
            raise IndexStateError(
                f"{part.folder}: it differs from {first.folder} in {meaning}{which}; index its documents again, as there"
            )


def _merge(folder: Path, existing: Sequence[_Part], shards: Sequence[_Part], progress: Progress) -> MergeReport:
    """Write the draft of the merged index, and publish it unless it adds nothing to an existing one."""
    draft, (first, *others) = folder / DRAFT, [*existing, *shards]
    draft.mkdir()
    manifest, segments, present = read_manifest(first.generation), list(first.segments), []
    checksums = {name: manifest[name] for segment in segments for name in link_segment(segment, first.generation, draft)}
    total = sum(len(segment) for part in (first, *others) for segment in part.segments)
    with closing(begin_draft(first.generation, draft)) as database, show(progress, "merging passages", total) as advance:
        before = count_documents(database) if existing else 0
        report_kept(advance, sum(map(len, segments)))
        places = [(0, first.folder)]
        for part in others:
            if _is_merged(database, part, places, bool(existing)):
                present.append(str(part.folder))
                report_kept(advance, sum(map(len, part.segments)))
                continue
            places.append((_last_document(database), part.folder))
            added, shared = join_index(database, part.generation, part.segments, draft, advance)
            segments += added
            checksums.update(shared)
        write_compounds(database, [segment.words["passage"] for segment in segments])
        note_documents(database)
        note_contents(database, sum(map(len, segments)))
        documents, passages = count_documents(database), count_passages(database)
        merged = MergeReport(documents, passages, documents - before, present=present)
        if existing and len(places) == 1:
            return merged
        compacted(database, draft, first.generation, always=True).close()  # or each update would copy what was added
    if not existing and (model := first.model_inside):
        link_folder(first.folder / model, folder / model)
    fitted = (existing or shards)[0]
    if existing or len({shard.fitted for shard in shards}) == 1:
        link_fitted(fitted.generation, draft, ())
    taken = fitted.fitted if (draft / FITTED).exists() else b""
    write_manifest(draft, {**checksums, **shared_documents(first.generation, draft)})
    publish_draft(folder)
    return replace(merged, unfitted=[str(shard.folder) for shard in shards if shard.fitted not in (b"", taken)])


def _last_document(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT COALESCE(MAX(id), 0) FROM documents").fetchone()[0])


def _is_merged(database: sqlite3.Connection, part: _Part, places: Sequence[tuple[int, Path]], has_existing: bool) -> bool:
    """Whether the existing index holds all documents of a part, unchanged.

    ``places`` are the indexes in the draft, each with the last document id before its own. Raises IndexStateError for any
    other overlap between the part and the draft.
    """
    with closing(open_documents(part.generation)) as other:
        keys = other.execute("SELECT key, hash, id FROM documents").fetchall()
    database.execute("CREATE TEMP TABLE keys(key TEXT PRIMARY KEY, hash BLOB, place INTEGER) WITHOUT ROWID")
    database.executemany("INSERT INTO keys VALUES (?, ?, ?)", keys)
    query = "SELECT d.id, key, keys.hash = d.hash AS same FROM documents AS d JOIN keys USING (key) ORDER BY same, place"
    both = database.execute(query).fetchall()
    database.execute("DROP TABLE keys")
    end = places[1][0] if len(places) > 1 else _last_document(database)
    if has_existing and len(both) == len(keys) and all(number <= end and is_same for number, _, is_same in both):
        return True
    owners = [next(folder for last, folder in reversed(places) if number > last) for number, _, _ in both]
    if both:
        shared = [key for (_, key, _), owner in zip(both, owners, strict=True) if owner == owners[0]]
        raise _overlap(part.folder, owners[0], shared, len(keys), has_existing)
    return False


def _overlap(folder: Path, owner: Path, keys: Sequence[str], every: int, has_existing: bool) -> IndexStateError:
    """Return the error for documents that two indexes hold, of ``every`` document of the index to remove them from."""
    listed, names = keys[:_KEYS_SHOWN], " ".join(map(shlex.quote, keys[:_KEYS_SHOWN]))
    which = listed[0] if len(keys) == 1 else f"{len(keys):,} documents, as {', '.join(listed)}"
    rest = "" if len(keys) <= _KEYS_SHOWN else " ... (with --json, oreqa merge lists all of them)"
    remove = f"oreqa remove {names}{index_option(folder)}{' --yes' if exceeds_share(len(keys), every) else ''}"
    take = f"take {'it' if len(keys) == 1 else 'them'} out of one of them, as by: {remove}"
    otherwise = ", or merge all into a new folder" if has_existing else ""
    return IndexStateError(f"{folder} and {owner} both hold {which}; {take}{rest}{otherwise}", documents=list(keys))


_KEYS_SHOWN = 3
"""The most documents that an error names."""


def _marks(folder: Path) -> list[Mark]:
    """Return people's marks on the answers of an index."""
    return [mark for file in (MARKS_FILE, UNDECIDED_FILE) for mark in read_marks(folder, file)]


def _take_marks(folder: Path, marks: Iterable[Sequence[Mark]]) -> int:
    """Take over marks, the newest for each question, and return their number.

    Marks saying that an index holds no answer are left out, because the merged index may hold one.
    """
    times, taken = {mark.id: mark.time for mark in _marks(folder)}, set()
    for mark in sorted(chain.from_iterable(marks), key=lambda mark: mark.time):
        if mark.verdict != "none" and mark.time > times.get(mark.id, ""):
            set_mark(folder, mark)
            times[mark.id] = mark.time
            taken.add(mark.id)
    return len(taken)
