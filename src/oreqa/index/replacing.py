"""One generation replaces another: the draft that is published by a rename, and the removal of what was replaced.

A process can be killed between the two, or leave a draft. Whatever opens the index for writing next removes what is left.
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
    """Remove what an update that was killed has left, where the next one begins.

    Raises IndexStateError if something has the draft's name that no update wrote.
    """
    drop_draft(folder)
    if os.path.lexists(folder / DRAFT):
        raise foreign_file(folder / DRAFT)
    _remove_replaced(folder)


def drop_draft(folder: Path) -> None:
    """Remove the draft of an update that has ended."""
    if (folder / DRAFT).is_dir():  # removing a FIFO as a folder would wait for ever
        shutil.rmtree(folder / DRAFT, ignore_errors=True)


def publish_draft(folder: Path) -> Path:
    """Make the draft, complete with its manifest, the current generation, and remove old ones. Returns the new folder."""
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
    """Remove all but the two newest generations once their successor is _KEPT_SECONDS old, and those that are forgotten."""
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
    """The generations before one whose manifest says that none is kept: an update that was killed has left them."""
    paths = [path for _, path in sorted(list_generations(folder))]
    return paths[: max((number for number, path in enumerate(paths) if _forgets(path)), default=0)]


def _forgets(generation: Path) -> bool:
    path = generation / MANIFEST
    with suppress(OSError, ValueError, RecursionError):
        manifest = json.loads(path.read_bytes()) if path.is_file() else None  # a FIFO would be read for ever
        return isinstance(manifest, dict) and manifest.get("forgets") is True
    return False


_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EROFS}
"""What fsync says on file systems that know nothing of it. All else, such as EIO and ENOSPC, means that data is lost."""


def _sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk, where the file system supports it. Raises OSError if it fails."""
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
