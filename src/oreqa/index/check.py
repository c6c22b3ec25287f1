"""Verify an index: compare every file with its checksum."""

from __future__ import annotations

from pathlib import Path

from oreqa.errors import IndexStateError
from oreqa.index.encodings import check_encodings
from oreqa.index.generations import damage_message, damaged_files, newest_generation, with_newest


def check_index(folder: Path) -> list[str]:
    """Return one line per damaged file, each saying how to repair it. Raises IndexStateError if there is no index."""
    memo_problem = check_encodings(folder)
    return [*with_newest(folder, _damage), *([memo_problem] if memo_problem else [])]


def _damage(generation: Path) -> list[str]:
    problems = [damage_message(generation / name) for name in damaged_files(generation)]
    if problems and newest_generation(generation.parent) != generation:
        raise IndexStateError(f"{generation}: it was replaced during the check")
    return problems
