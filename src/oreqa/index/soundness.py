"""What an update compares with the checksums of a generation before it shares or reads its files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oreqa.errors import IndexStateError
from oreqa.index.generations import CHANGES, DAMAGED, damage_message, damaged_files, has_checksum, read_manifest

QUICK = 256 << 20
"""Bytes of a generation up to which an update compares all of it before it begins."""


def damaged_before_update(generation: Path) -> list[str]:
    """The damaged files of a generation: of all, where these are read in a moment or damage was noted; else of small ones.

    An update shares large files with their checksums, and compares those that it reads to write others.
    """
    rows = read_manifest(generation)
    is_quick = sum(row["bytes"] for row in rows.values()) <= QUICK or (generation / DAMAGED).exists()
    damaged = damaged_files(generation, whole=is_quick)
    return damaged or [name for name in (CHANGES,) if name in rows and not has_checksum(generation / name, rows[name])]


def need_sound(generation: Path, names: Iterable[str]) -> None:
    """Compare files with their checksums. Raises IndexStateError that names a damaged one; the next update will mend it."""
    rows = read_manifest(generation)
    for name in names:
        if not has_checksum(generation / name, rows[name]):
            damaged_files(generation)
            raise IndexStateError(damage_message(generation / name))
