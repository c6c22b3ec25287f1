"""The cache folder: compiled graphs with their checksums, and fingerprints of model folders. Losing it costs time only."""

from __future__ import annotations

import json
import mmap
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import write_text
from oreqa.models.folders import find_model, fingerprint, read_config

CHECKSUMS = "checksums.json"

_STALE = 3600
"""Seconds after which a draft belongs to a process that was killed."""


def cache_folder() -> Path:
    """Where graphs are kept: ``$OREQA_CACHE``, else ``oreqa`` in the user's cache folder."""
    if named := os.environ.get("OREQA_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "oreqa"


def is_intact(folder: Path) -> bool:
    """Whether an entry's files are there as they were written. False for one that cannot be read."""
    try:
        sums = json.loads((folder / CHECKSUMS).read_bytes())
        return bool(sums) and all(_checksum(folder / name) == value for name, value in sums.items())
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def save_entry(folder: Path, write: Callable[[Path], None]) -> bool:
    """Make or replace an entry of the cache, whose files ``write`` puts into a draft. False if it cannot be written."""
    # Not tempfile's folders, which none but their maker may read: the cache may be shared.
    draft = folder.with_name(f".draft-{secrets.token_hex(8)}")
    try:
        draft.mkdir(parents=True)
        write(draft)
        sums = {file.name: _checksum(file) for file in sorted(draft.iterdir())}
        (draft / CHECKSUMS).write_text(json.dumps(sums))
        if folder.exists():  # damaged; a process that has opened its files keeps them
            damaged = folder.rename(folder.with_name(f"{draft.name}-damaged"))
            shutil.rmtree(damaged, ignore_errors=True)
        with suppress(OSError):  # another process was first
            draft.rename(folder)
        return True
    except (OSError, RuntimeError):  # the latter is OpenVINO's
        return False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        _remove_stale(folder.parent)


def _remove_stale(cache: Path) -> None:
    with suppress(OSError):
        for draft in cache.glob(".draft-*"):
            if time.time() - draft.stat().st_mtime > _STALE:
                shutil.rmtree(draft, ignore_errors=True)


def _checksum(path: Path) -> list[int]:
    """Bytes and CRC-32. The file is mapped, not read: it is about to be used."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if not size:
            return [0, 0]
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return [size, zlib.crc32(content)]


def cached_fingerprint(folder: Path) -> str:
    """The folder's fingerprint, remembered by sizes and times so that 90 MB are not hashed at every start."""
    files = sorted(f for f in folder.rglob("*") if f.suffix in (".safetensors", ".json") and f.is_file())
    stamp = [str(folder), *([f.name, f.stat().st_size, f.stat().st_mtime_ns] for f in files)]
    note = cache_folder() / "fingerprints.json"
    notes = _read_notes(note)
    match notes.get(str(folder)):
        case [kept, str(value)] if kept == stamp:
            return value
    value = fingerprint(folder)
    with suppress(InputError):  # without it the next start hashes again
        write_text(note, json.dumps({**notes, str(folder): [stamp, value]}))
    return value


def _read_notes(path: Path) -> dict[str, Any]:
    try:
        notes = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}


def model_stamp(folder: Path) -> str:
    """The folder's fingerprint and, of one kept as a difference, those of the models below it."""
    stamp = cached_fingerprint(folder)[:16]
    base = (read_config(folder).get("oreqa") or {}).get("difference_from")
    return f"{stamp}-{model_stamp(find_model(str(base)))}" if base else stamp
