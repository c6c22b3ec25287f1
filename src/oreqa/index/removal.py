"""Remove documents from an index."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import chain
from pathlib import Path

from oreqa.arguments import as_index_folder, as_paths, text_list
from oreqa.errors import InputError
from oreqa.files import read_object
from oreqa.index.documents import find_documents
from oreqa.index.drafts import count_documents
from oreqa.index.engines.milvus import STATE
from oreqa.index.generations import newest_generation, require_generation
from oreqa.index.store import open_documents
from oreqa.index.writer import open_writer

LARGEST_SHARE = 0.5
"""The largest share of the documents that ``oreqa remove`` removes without --yes."""


def remove_documents(
    folder: str | Path, documents: str | Path | Iterable[str | Path], device: str = "cpu", *, largest_share: float = 1.0
) -> list[str]:
    """Remove one or more documents from an index in one update; return their keys.

    A document is named by its key, a path to it, the last components of either, or its title. The name of a file with many
    documents, such as a table or an archive, means all of them; the name of a folder means all documents in it.
    ``index_files`` adds a removed document again if its file still exists and no pattern excludes it. An interrupted removal
    removes nothing.

    Raises InputError, and removes nothing, if a name matches no document, or is ambiguous, for a folder that contains all
    documents, and if several documents are more than the ``largest_share`` of all; IndexStateError if there is no index, or
    it cannot be written.

    Examples:
        >>> [Path(key).name for key in remove_documents("kb", ["bees.md", "Boots"])]
        ['bees.md', 'tents.jsonl#2']
    """
    folder = as_index_folder(folder)
    names = text_list([str(path) for path in as_paths(documents)], "documents")
    require_generation(folder)
    with open_writer(folder, device=device) as writer:
        assert writer.current.generation is not None
        with closing(open_documents(writer.current.generation)) as database:
            by_name = {name: _find(database, name, folder) for name in names}
            every = count_documents(database)
        rows = writer.current.numbered(set(chain(*by_name.values())))
        whole = [name for name, numbers in by_name.items() if len(numbers) == every]
        if whole and len({row.source for row in rows}) > 1:
            reason = f"all {every:,} documents of the index lie in it"
            raise InputError(f"{whole[0]}: {reason}; name folders within it, or, to remove all, {_delete(folder)}")
        if exceeds_share(len(rows), every, largest_share):
            raise InputError(f"{len(rows):,} of the {every:,} documents would be removed; if you mean it, add --yes")
        writer.remove([row.number for row in rows], sorted({row.source for row in rows}))
        writer.publish(forget=True)
        return sorted(row.key for row in rows)


def _find(database: sqlite3.Connection, name: str, folder: Path) -> list[int]:
    try:
        return find_documents(database, name, whole_files=True)
    except InputError:
        if os.path.realpath(name) != os.path.realpath(folder):
            raise
        raise InputError(f"{name} is the index; name documents in it, or, to remove all, {_delete(folder)}") from None


def _delete(folder: Path) -> str:
    return f"delete its folder: {how_to_delete(folder)}"


def how_to_delete(folder: Path) -> str:
    """Return how to delete an index; of a served one, also which collection the server keeps until it is dropped."""
    generation, command = newest_generation(folder), f"rm -r {shlex.quote(str(folder))}"
    if generation is None or not (served := read_object(generation / STATE)):
        return command
    return f"{command}, then drop the collection {served['name']} on {served['uri']}, which keeps its vectors and words"


def exceeds_share(count: int, every: int, share: float = LARGEST_SHARE) -> bool:
    """Return whether several documents are more than a share of ``every`` document."""
    return count > max(1, share * every)
