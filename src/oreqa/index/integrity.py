"""Whether an index is undamaged: what an update verifies before it shares or reads files, and a full check."""

from __future__ import annotations

from pathlib import Path

from oreqa.errors import IndexStateError
from oreqa.index.engines.milvus import row_problems
from oreqa.index.generations import (
    CHANGES,
    DAMAGED,
    damage_message,
    damaged_files,
    has_checksum,
    newest_generation,
    read_manifest,
    with_newest,
)
from oreqa.index.replacing import forgotten_generations
from oreqa.locks import is_locked

QUICK = 256 << 20
"""Bytes of a generation up to which an update verifies all of it before it begins."""


def damaged_before_update(generation: Path) -> list[str]:
    """Return a generation's damaged files, among all if small enough or if damage was recorded, else among small ones.

    An update shares large files with their checksums, and verifies those that it reads to write others.
    """
    rows = read_manifest(generation)
    is_quick = sum(row["bytes"] for row in rows.values()) <= QUICK or (generation / DAMAGED).exists()
    damaged = damaged_files(generation, whole=is_quick)
    return damaged or [name for name in (CHANGES,) if name in rows and not has_checksum(generation / name, rows[name])]


def check_index(folder: Path) -> list[str]:
    """Return one line per damaged file, with how to repair it, and per generation due for removal.

    Raises IndexStateError if there is no index.
    """
    return with_newest(folder, _problems)


def _problems(generation: Path) -> list[str]:
    folder = generation.parent
    problems = [damage_message(generation / name) for name in damaged_files(generation)]
    problems = problems or row_problems(generation)
    if problems and newest_generation(folder) != generation:
        raise IndexStateError(f"{generation}: it was replaced during the check")
    left = forgotten_generations(folder)
    if left and is_locked(folder / "lock"):  # that process removes them
        left = []
    return problems + [
        f"{path}: oreqa remove was interrupted, and what it removed is still in this folder; delete it, or let the next "
        "command that writes the index do so"
        for path in left
    ]
