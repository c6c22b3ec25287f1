"""Locks between processes, released when the process that holds them ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

from filelock import AcquireReturnProxy, FileLock, Timeout

_NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}


def lock_file(path: Path, wait: bool = False) -> AcquireReturnProxy[FileLock]:
    """Return a lock on a file, which is created, to be held in a ``with``.

    Raises Timeout if another process holds the lock, unless the caller will ``wait`` for it, and OSError if the file
    cannot be written or the file system has no locks: a lock by mere existence would outlive a killed process.
    """
    lock = FileLock(path, fallback_to_soft=False)
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        if _is_refused(path):
            raise OSError(errno.EACCES, "its lock is refused: another process holds it, or the disk has no locks") from None
        if not wait:
            raise
        return lock.acquire()
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise OSError(error.errno, f"the disk has no locks: {error.strerror}; use another disk") from error
        raise


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file, as far as that can be determined."""
    try:
        with lock_file(path):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _is_refused(path: Path) -> bool:
    """Return whether a lock is refused the way some network drives do, whether it is held or they have no locks."""
    if sys.platform == "win32":
        return False
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EACCES
    finally:
        os.close(descriptor)
    return False
