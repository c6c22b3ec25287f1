"""Replaces one generation by another: publishes the draft by a rename, and removes what was replaced.

A process can be killed between the two, or leave a draft. Whoever opens the index for writing next removes the leftovers.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from oreqa.index.generations import (
    DRAFT,
    MANIFEST,
    foreign_file,
    generation_folder,
    generation_number,
    list_generations,
    newest_generation,
)

_KEPT_SECONDS = 10.0
"""How long a replaced generation is kept for readers that are opening it. The one before the newest is always kept."""


def clear_folder(folder: Path) -> None:
    """Remove the leftovers of a killed update before the next one begins.

    Raises IndexStateError if something other than a draft has the draft's name.
    """
    drop_draft(folder)
    if os.path.lexists(folder / DRAFT):
        raise foreign_file(folder / DRAFT)
    _remove_replaced(folder)


def drop_draft(folder: Path) -> None:
    """Remove the draft of an update that has ended."""
    if (folder / DRAFT).is_dir():  # removing a FIFO as a folder would block forever
        shutil.rmtree(folder / DRAFT, ignore_errors=True)


def publish_draft(folder: Path) -> Path:
    """Make the draft, complete with its manifest, the current generation; remove old ones. Returns the new folder."""
    draft, before = folder / DRAFT, newest_generation(folder)
    published = generation_folder(folder, generation_number(before) + 1 if before else 1)
    for path in (*sorted(draft.rglob("*")), draft):  # files must reach the disk before the rename does
        _sync(path)
    draft.rename(published)
    try:
        _sync(folder)
    except OSError:
        published.rename(draft)
        raise
    _remove_replaced(folder)
    return published


def _remove_replaced(folder: Path) -> None:
    """Remove forgotten generations, and all but the two newest once their successor is _KEPT_SECONDS old."""
    for path in forgotten_generations(folder):
        shutil.rmtree(path, ignore_errors=True)
    for path, successor in pairwise([path for _, path in sorted(list_generations(folder))][:-1]):
        try:
            age = time.time() - (successor / MANIFEST).stat().st_mtime
        except OSError:
            age = _KEPT_SECONDS
        if not 0 <= age < _KEPT_SECONDS:  # a negative age means that the clock was set back: remove
            shutil.rmtree(path, ignore_errors=True)


def forgotten_generations(folder: Path) -> list[Path]:
    """Return the generations before one whose manifest says that none is kept: leftovers of a killed update."""
    paths = [path for _, path in sorted(list_generations(folder))]
    return paths[: max((number for number, path in enumerate(paths) if _forgets(path)), default=0)]


def _forgets(generation: Path) -> bool:
    path = generation / MANIFEST
    with suppress(OSError, ValueError, RecursionError):
        manifest = json.loads(path.read_bytes()) if path.is_file() else None  # reading a FIFO would block forever
        return isinstance(manifest, dict) and manifest.get("forgets") is True
    return False


_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EROFS}
"""fsync errors of file systems that do not support it. All others, such as EIO and ENOSPC, mean that data is lost."""


def _sync(path: Path) -> None:
    """Flush a file, or a folder's entries, to disk where the file system supports it. Raises OSError if it fails."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder, on systems that cannot open one
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(descriptor)
