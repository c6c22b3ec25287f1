"""Generations of an index: folders of files that never change, published by one rename.

``search-000007/`` holds the seventh state of an index whole: its documents (SQLite), vectors, BM25, row numbers, and a
manifest with the size and SHA-256 of every file. The newest folder is the current state; the one before, and those replaced
a moment ago, stay for readers that are opening them. ``draft/`` is the update under way, and of no meaning once its process
is gone.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from oreqa.errors import IndexStateError

FORMAT = 3
MANIFEST = "manifest.json"
DOCUMENTS = "documents.db"
DRAFT = "draft"

_NAME = re.compile(r"search-(\d{6,})")
T = TypeVar("T")

_ATTEMPTS = 100
"""Generations that may be replaced while they are being opened."""

_KEPT_SECONDS = 10.0
"""How long a replaced generation stays for readers that are opening it; the one before the newest stays in any case."""

_SMALL = 1 << 20
"""Files of at most so many bytes are compared with their checksum whenever an index is opened."""


def newest_generation(folder: Path) -> Path | None:
    """The folder of the current state; None if no update was ever completed, or there is no index."""
    numbers = [number for number, _ in _generations(folder)]
    return generation_folder(folder, max(numbers)) if numbers else None


def require_generation(folder: Path) -> Path:
    """The folder of the current state. Raises IndexStateError, with what to do, if there is none."""
    newest = newest_generation(folder)
    if newest is not None:
        return newest
    if (folder / "index.db").exists():
        raise IndexStateError(f"{folder}: its format is 1, this oreqa reads {FORMAT}; index into a new folder")
    if (folder / "lock").exists():
        raise IndexStateError(f"{folder}: this index was never completed; finish it with: oreqa index PATH --index {folder}")
    raise IndexStateError(f"{folder}: there is no index here; make one with: oreqa index PATH --index {folder}")


def with_newest(folder: Path, use: Callable[[Path], T]) -> T:
    """What ``use`` makes of the current state's folder; where that fails and a newer one has come, of that.

    Raises IndexStateError if there is no index, and what ``use`` raises.
    """
    for _ in range(_ATTEMPTS):
        generation = require_generation(folder)
        try:
            return use(generation)
        except (IndexStateError, OSError):
            if require_generation(folder) == generation:  # a newer one: this one was being removed
                raise
    raise IndexStateError(f"{folder}: it is updated faster than it can be opened; try again")


def generation_folder(folder: Path, number: int) -> Path:
    """Where the files of a generation lie."""
    return folder / f"search-{number:06d}"


def generation_identity(generation: Path) -> tuple[int, int]:
    """Tells a generation from another of the same name: of an index that was deleted and made again."""
    try:
        status = (generation / MANIFEST).stat()
    except OSError as error:
        raise IndexStateError(damage_message(generation / MANIFEST)) from error
    return status.st_ino, status.st_mtime_ns


def generation_number(generation: Path) -> int:
    """The number in the name of a generation's folder."""
    return int(generation.name.rpartition("-")[2])


def publish_draft(folder: Path) -> Path:
    """Make the draft, which has its manifest, the current state, and remove generations that were replaced long ago."""
    draft, before = folder / DRAFT, newest_generation(folder)
    published = generation_folder(folder, generation_number(before) + 1 if before else 1)
    for path in (*sorted(draft.rglob("*")), draft):  # all is on the disk before its name is
        _sync(path)
    draft.rename(published)
    _sync(folder)
    _remove_replaced(folder)
    return published


def write_manifest(generation: Path, checksums: Mapping[str, Mapping[str, Any]]) -> None:
    """Note size and SHA-256 of every file; those in ``checksums`` are not read again."""
    files = {}
    for path in _files(generation):
        name = path.relative_to(generation).as_posix()
        files[name] = dict(checksums.get(name) or {"bytes": path.stat().st_size, "sha256": _sha256(path)})
    text = json.dumps({"format": FORMAT, "files": files}, indent=1)
    (generation / MANIFEST).write_text(text, encoding="utf-8")


def read_manifest(generation: Path) -> dict[str, dict[str, Any]]:
    """Size and SHA-256 of every file, by name. Raises IndexStateError if the manifest is damaged or of another format."""
    path = generation / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        if manifest["format"] != FORMAT:
            raise IndexStateError(
                f"{generation.parent}: its format is {manifest['format']}, this oreqa reads {FORMAT}; "
                "index into a new folder"
            )
        return {str(name): {"bytes": int(row["bytes"]), "sha256": str(row["sha256"])}
                for name, row in manifest["files"].items()}  # fmt: skip
    except PermissionError as error:
        raise IndexStateError(f"{path}: you may not read this file ({error.strerror})") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndexStateError(damage_message(path)) from error


def damaged_files(generation: Path, whole: bool = True) -> list[str]:
    """Names of files that are not as they were published: missing, of another size, or of another checksum.

    Unless ``whole``, only the checksums of small files are computed, which takes a moment.
    """
    damaged = []
    for name, row in read_manifest(generation).items():
        path = generation / name
        try:
            same = path.stat().st_size == row["bytes"]
            if same and (whole or row["bytes"] <= _SMALL):
                same = _sha256(path) == row["sha256"]
        except PermissionError as error:
            raise IndexStateError(f"{path}: you may not read this file ({error.strerror})") from error
        except OSError:
            same = False
        if not same:
            damaged.append(name)
    return damaged


def damage_message(path: Path) -> str:
    """What a user is told of a damaged file of a generation, and what mends it."""
    generation = next(parent for parent in (path, *path.parents) if _NAME.fullmatch(parent.name))
    folder = generation.parent
    again = f"oreqa index PATH --index {folder}"
    if path.name not in (DOCUMENTS, MANIFEST):
        return f"{path}: this file of the index is missing or damaged; make it anew with: {again}"
    before = generation_folder(folder, generation_number(generation) - 1)
    left = (
        f"the state before it, {before.name}, is then refreshed" if before.is_dir() else "the documents are then read again"
    )
    return (
        f"{path}: this file of the index is missing or damaged; delete the folder {generation}, then run: {again} ({left})"
    )


def link_file(source: Path, target: Path) -> None:
    """Share a file that never changes between two generations, by a copy where links are not possible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _generations(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        paths = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise IndexStateError(f"{folder}: this folder cannot be read ({error.strerror})") from error
    for path in paths:
        if match := _NAME.fullmatch(path.name):
            yield int(match.group(1)), path


def _remove_replaced(folder: Path) -> None:
    """Remove generations older than the one before, once their successor is _KEPT_SECONDS old."""
    paths = [path for _, path in sorted(_generations(folder))]
    for path, successor in itertools.pairwise(paths[:-1]):
        try:
            age = time.time() - (successor / MANIFEST).stat().st_mtime
        except OSError:
            age = _KEPT_SECONDS
        if not 0 <= age < _KEPT_SECONDS:  # a clock that was put back keeps nothing
            shutil.rmtree(path, ignore_errors=True)


def _files(generation: Path) -> list[Path]:
    return sorted(path for path in generation.rglob("*") if path.is_file() and path.name != MANIFEST)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; file systems that cannot are done without."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
