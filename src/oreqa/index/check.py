"""Whether an index is as it was written: every file compared with its checksum."""

from __future__ import annotations

from pathlib import Path

from oreqa.index.encodings import check_encodings
from oreqa.index.generations import damage, damaged_files, with_newest


def check_index(folder: Path) -> list[str]:
    """A line for everything that is damaged, with what mends it. Raises IndexStateError if there is no index."""
    problems = with_newest(folder, lambda generation: [damage(generation / name) for name in damaged_files(generation)])
    memo = check_encodings(folder)
    return [*problems, *([memo] if memo else [])]
