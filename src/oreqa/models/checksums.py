"""Checksums of the models in Python packages, so that damage is detected when a file is read.

``pack/checksums.json`` has the size and CRC-32 of their files, by folder and name. A model that oreqa assembles from
packages has a checksum file next to its settings. Users' own folders have none.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError, describe
from oreqa.files import write_json

PACK = Path(__file__).parent / "pack"
_SUMS = PACK / "checksums.json"
_BESIDE = ".checksums.json"
"""The file of checksums, by file name, in a folder of the store."""

_DEPTH = 2
"""How many levels above a file its checksums may lie: in its own folder, or in that of the model it is a module of."""


def checksum(path: Path) -> list[int]:
    """Return the size and CRC-32. The file is read, not mapped, so that a disk error is an OSError and kills no process."""
    size = crc = 0
    part = memoryview(bytearray(1 << 18))
    with path.open("rb", buffering=0) as stream:
        while read := stream.readinto(part):
            size, crc = size + read, zlib.crc32(part[:read], crc)
    return [size, crc]


def check_file(path: Path) -> None:
    """Raise ModelError if a file of a model with checksums has changed. Other files, and missing ones, pass."""
    expected, again = None, f"install oreqa again, or, in a checkout: git checkout -- {path}"
    if path.is_relative_to(PACK):
        expected = _sums().get(_key(path))
    elif folder := _folder_with_checksums(path):
        expected, again = _read_beside(folder).get(path.relative_to(folder).as_posix()), _get_again(folder)
    if expected is not None and path.is_file() and checksum(path) != expected:
        raise ModelError(f"{path}: it was damaged or changed: {again}")


def write_beside(folder: Path) -> None:
    """Write the checksums of a model's files into its folder."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != _BESIDE]
    write_json(folder / _BESIDE, {file.relative_to(folder).as_posix(): checksum(file) for file in sorted(files)})


def is_as_written(folder: Path) -> bool:
    """Return whether all files of a model match the checksums in its folder; a model without checksums passes."""
    try:
        sums = _read_beside(folder) if (folder / _BESIDE).is_file() else {}
        return all(checksum(folder / name) == value for name, value in sums.items())
    except (ModelError, OSError, TypeError):
        return False


def _folder_with_checksums(path: Path) -> Path | None:
    return next((folder for folder in path.parents[:_DEPTH] if (folder / _BESIDE).is_file()), None)


def _get_again(folder: Path) -> str:
    return f"oreqa models get {folder.name} --pypi gets it again"


def _read_beside(folder: Path) -> dict[str, Any]:
    file = folder / _BESIDE
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise ModelError(f"{file}: it was damaged ({describe(error)}): {_get_again(folder)}") from error


def keep_checksum(path: Path) -> None:
    """Update the checksum of a packaged model's file that was changed on purpose; other files have none."""
    if path.is_relative_to(PACK):
        write_checksums({**_sums(), _key(path): checksum(path)})


def write_checksums(sums: dict[str, list[int]]) -> None:
    """Write the checksums of all packaged files, by folder and name."""
    write_json(_SUMS, {key: sums[key] for key in sorted(sums)})
    _sums.cache_clear()


def packaged_checksums() -> dict[str, list[int]]:
    """Compute the current checksums of the pack's files."""
    folders = [folder for folder in PACK.iterdir() if folder.is_dir()]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".json", ".safetensors")]
    return {_key(file): checksum(file) for file in files}


def _key(path: Path) -> str:
    return path.relative_to(PACK).as_posix()


@lru_cache(maxsize=1)
def _sums() -> dict[str, Any]:
    try:
        sums = json.loads(_SUMS.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{_SUMS}: it cannot be read ({error}): install oreqa again") from error
    return dict(sums)
