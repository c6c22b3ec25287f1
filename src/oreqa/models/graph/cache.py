"""The contents of the cache folder: graphs with their checksums, and fingerprints of model folders."""

from __future__ import annotations

import json
import secrets
import shutil
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import read_object, write_text
from oreqa.models.checksums import checksum
from oreqa.models.names import difference_base, model_fingerprint
from oreqa.paths import cache_folder

CHECKSUMS = "checksums.json"

_SUFFIXES = (".safetensors", ".json", ".txt", ".xml", ".bin", ".onnx", ".onnx_data", ".data")
"""Suffixes of files that may affect a model's output."""

_STALE = 3600
"""Age in seconds from which a draft is considered left over from a killed process."""


def is_intact(folder: Path) -> bool:
    """Return whether all files of an entry exist and match their checksums; False if it cannot be read."""
    try:
        sums = json.loads((folder / CHECKSUMS).read_bytes())
        return bool(sums) and all(checksum(folder / name) == value for name, value in sums.items())
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def save_entry(folder: Path, write: Callable[[Path], None]) -> bool:
    """Create or replace an entry: ``write`` fills a draft, which is then renamed. Returns False if it cannot be written."""
    # Not tempfile: only the owner may read its folders, and the cache may be shared.
    draft = folder.with_name(f".draft-{secrets.token_hex(8)}")
    try:
        draft.mkdir(parents=True)
        write(draft)
        sums = {file.name: checksum(file) for file in sorted(draft.iterdir())}
        (draft / CHECKSUMS).write_text(json.dumps(sums))
        if folder.exists():  # damaged; processes that have opened its files can still use them
            damaged = folder.rename(folder.with_name(f"{draft.name}-damaged"))
            shutil.rmtree(damaged, ignore_errors=True)
        with suppress(OSError):  # another process wrote the entry first
            draft.rename(folder)
        return True
    except (OSError, RuntimeError):  # RuntimeError: from OpenVINO
        return False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        _remove_stale(folder.parent)


def _remove_stale(cache: Path) -> None:
    with suppress(OSError):
        for draft in cache.glob(".draft-*"):
            if time.time() - draft.stat().st_mtime > _STALE:
                shutil.rmtree(draft, ignore_errors=True)


def cached_fingerprint(folder: Path) -> str:
    """Return the folder's fingerprint, cached by file sizes and times, so that 90 MB are not hashed at every start."""
    state = _file_state(folder)
    if (value := _recorded(folder, state)) is not None:
        return value
    value = model_fingerprint(folder)
    with suppress(InputError):  # not cached: the next start computes it again
        rows = {**read_object(_fingerprints()), str(folder): [state, value, _check(state, value)]}
        write_text(_fingerprints(), json.dumps(rows))
    return value


def recorded_fingerprint(folder: Path) -> str | None:
    """Return the cached fingerprint of an unchanged folder; None if it has changed, or was never loaded."""
    return _recorded(folder, _file_state(folder))


def _recorded(folder: Path, state: list[Any]) -> str | None:
    match read_object(_fingerprints()).get(str(folder)):
        case [cached_state, str(value), check] if cached_state == state and check == _check(state, value):
            return value
    return None


def _fingerprints() -> Path:
    return cache_folder() / "fingerprints.json"


def _check(state: list[Any], value: str) -> int:
    """Return a checksum: a damaged fingerprint might be that of another model."""
    return zlib.crc32(json.dumps([state, value]).encode())


def _file_state(folder: Path) -> list[Any]:
    """Return the names, sizes and times of the files of a model, and of those of its base."""
    files = sorted(f for f in folder.rglob("*") if f.suffix in _SUFFIXES and f.is_file())
    base = difference_base(folder)
    return [
        str(folder),
        *([f.name, f.stat().st_size, f.stat().st_mtime_ns] for f in files),
        *(_file_state(base) if base else ()),
    ]
