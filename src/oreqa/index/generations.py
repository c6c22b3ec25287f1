"""Generations of an index: folders of immutable files, each published by one rename.

``search-000007/`` is the complete seventh state of an index: documents (SQLite), vectors, BM25, row numbers, and a manifest
with the size and SHA-256 of every file. The newest folder is the current state. The one before it, and those replaced in
the last few seconds, stay for readers that are opening them. ``draft/`` is the update in progress; it is worthless once
its process has ended.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from oreqa.errors import IndexStateError
from oreqa.paths import index_option

FORMAT, READABLE = 8, (7, 8)
MANIFEST = "manifest.json"
DOCUMENTS, CHANGES = "documents.db", "changes.db"
DRAFT = "draft"

_NAME = re.compile(r"search-(\d{6,})")
T = TypeVar("T")

_ATTEMPTS = 100
"""How often opening is retried if the generation was replaced in the meantime."""

_SMALL = 1 << 20
"""Files up to this size, in bytes, are verified against their checksums whenever an index is opened."""

DAMAGED = "damaged"
"""A marker file in a generation in which damage was detected."""


def newest_generation(folder: Path) -> Path | None:
    """Return the folder of the current generation, or None if there is no index or no update was ever completed."""
    numbers = [number for number, _ in list_generations(folder)]
    return generation_folder(folder, max(numbers)) if numbers else None


def require_generation(folder: Path) -> Path:
    """Return the folder of the current generation. Raises IndexStateError, with what to do, if there is none."""
    newest = newest_generation(folder)
    if newest is not None:
        return newest
    command = f"oreqa index PATH{index_option(folder)}"
    if (folder / "lock").exists():
        raise IndexStateError(f"{folder}: this index was never completed; run what made it again, as: {command}")
    if folder.is_dir() and any(folder.iterdir()):
        make = f"oreqa index {shlex.quote(str(folder))}"
        raise IndexStateError(f"{folder}: this folder holds other files and no index; make one of them with: {make}")
    raise IndexStateError(f"{folder}: there is no index here; create one with: {command}")


def with_newest(folder: Path, use: Callable[[Path], T]) -> T:
    """Call ``use`` with the folder of the current generation and return its result; retry if an update replaced the folder.

    Raises IndexStateError if there is no index, and whatever ``use`` raises.
    """
    for _ in range(_ATTEMPTS):
        generation = require_generation(folder)
        try:
            return use(generation)
        except (IndexStateError, OSError):
            if require_generation(folder) == generation:  # else it failed because the folder was being removed
                raise
    raise IndexStateError(f"{folder}: it is updated faster than it can be opened; try again later")


def generation_folder(folder: Path, number: int) -> Path:
    """Return the folder of a generation."""
    return folder / f"search-{number:06d}"


def generation_identity(generation: Path) -> tuple[int, int]:
    """Return a value that differs between generations of the same name, for an index that was deleted and rebuilt."""
    try:
        status = (generation / MANIFEST).stat()
    except OSError as error:
        raise read_error(generation / MANIFEST, error) from error
    return status.st_ino, status.st_mtime_ns


def generation_number(generation: Path) -> int:
    """Return the number in the name of a generation's folder."""
    return int(generation.name.rpartition("-")[2])


def write_manifest(generation: Path, checksums: Mapping[str, Mapping[str, Any]], forgets: bool = False) -> None:
    """Write the size and SHA-256 of every file; those in ``checksums`` are copied instead of computed.

    With ``forgets``, no earlier generation is kept.
    """
    files = {}
    for path in _files(generation):
        name = path.relative_to(generation).as_posix()
        files[name] = dict(checksums.get(name) or {"bytes": path.stat().st_size, "sha256": _sha256(path)})
    manifest = {"format": FORMAT, **({"forgets": True} if forgets else {}), "files": files}
    (generation / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def read_manifest(generation: Path) -> dict[str, dict[str, Any]]:
    """Return the size and SHA-256 of every file, by name.

    Raises IndexStateError for a damaged manifest or another format.
    """
    path = generation / MANIFEST
    try:
        if not path.is_file():  # missing, or a FIFO that nobody may ever write into
            raise IndexStateError(damage_message(path))
        manifest = json.loads(path.read_bytes())
        if manifest["format"] not in READABLE:
            raise IndexStateError(
                f"{generation.parent}: its format is {manifest['format']}, this oreqa reads "
                f"{' and '.join(map(str, READABLE))}; index into a new folder"
            )
        return {
            str(name): {"bytes": int(row["bytes"]), "sha256": str(row["sha256"])} for name, row in manifest["files"].items()
        }
    except OSError as error:
        raise read_error(path, error) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndexStateError(damage_message(path)) from error


def foreign_file(path: Path) -> IndexStateError:
    """Return the error for something in an index's folder that has a reserved name but was not written by an update."""
    return IndexStateError(f"{path}: oreqa did not write this, and needs the name; rename or delete it")


def damaged_files(generation: Path, whole: bool = True) -> list[str]:
    """Return the names of files that are missing or whose size or checksum differs from the manifest.

    Without ``whole``, only small files are verified, which is fast enough for every start. A full check records damage
    in the generation, if writable, for the next update.
    """
    rows = read_manifest(generation)
    damaged = [name for name, row in rows.items() if not has_checksum(generation / name, row, whole)]
    if whole and damaged:
        with suppress(OSError):
            (generation / DAMAGED).touch()
    return damaged


def require_intact(generation: Path, names: Iterable[str]) -> None:
    """Verify the checksums of files. Raises IndexStateError naming a damaged one, which the next update will repair."""
    rows = read_manifest(generation)
    for name in names:
        if not has_checksum(generation / name, rows[name]):
            damaged_files(generation)
            raise IndexStateError(damage_message(generation / name))


def has_checksum(path: Path, row: Mapping[str, Any], whole: bool = True) -> bool:
    """Return whether a file matches its manifest row; without ``whole``, a large one is checked only by size."""
    try:
        status = path.stat()
        intact = stat.S_ISREG(status.st_mode) and status.st_size == row["bytes"]
        return intact and (not (whole or row["bytes"] <= _SMALL) or _sha256(path) == row["sha256"])
    except OSError as error:
        if error.errno not in _DAMAGE:
            raise read_error(path, error) from error
        return False


UNREADABLE = {errno.EIO, errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EIO)}
"""Errors from reading a file that is damaged on disk, or that the file system reports as corrupted."""

_DAMAGE = UNREADABLE | {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP}
"""Errors that mean a damaged or lost file. All others, such as EACCES and EMFILE, mean that it cannot be read now."""


def read_error(path: Path, error: Exception) -> IndexStateError:
    """Return the error to raise if reading a generation's file fails: damage with what to do, anything else unchanged."""
    if isinstance(error, OSError) and error.errno in _DAMAGE:
        return IndexStateError(damage_message(path))
    return IndexStateError(f"{path}: this file cannot be read ({getattr(error, 'strerror', None) or error})")


def damage_message(path: Path) -> str:
    """Return the error message for a damaged file of a generation: what is wrong, and how to repair it."""
    generation = next(parent for parent in (path, *path.parents) if _NAME.fullmatch(parent.name))
    folder = generation.parent
    command = f"oreqa index PATH{index_option(folder)}"
    if path.name not in (DOCUMENTS, CHANGES, MANIFEST):
        return f"{path}: this file of the index is missing or damaged; rebuild it with: {command}"
    every = [each for _, each in sorted(list_generations(folder))]
    lost = [each for each in every if each == generation or _is_same_file(each / path.name, path)]
    left = [each.name for each in every if each not in lost and generation_number(each) < generation_number(generation)]
    consequence = f"this updates the state before it, {left[-1]}" if left else "this reads all documents again"
    which = f"the folder {generation}" if len(lost) < 2 else f"the folders {' and '.join(map(str, lost))}, which share it"
    return f"{path}: this file of the index is missing or damaged; delete {which}, then run: {command} ({consequence})"


def _is_same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def link_file(source: Path, target: Path) -> None:
    """Share an immutable file between two generations by a hard link, or copy it where links are not supported."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def link_folder(source: Path, target: Path) -> None:
    """Share the files of a folder; leftovers of an interrupted run are replaced."""
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(source.rglob("*")):
        if path.is_file():
            link_file(path, target / path.relative_to(source))


def list_generations(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        paths = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise IndexStateError(f"{folder}: this folder cannot be read ({error.strerror})") from error
    for path in paths:
        if match := _NAME.fullmatch(path.name):
            yield int(match.group(1)), path


def _files(generation: Path) -> list[Path]:
    return sorted(path for path in generation.rglob("*") if path.is_file() and path.name != MANIFEST)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
