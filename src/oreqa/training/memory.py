"""The C library's allocator in a process that trains and does nothing else."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4  # malloc.h


def keep_freed_memory() -> None:
    """Let the C library keep what tensors leave behind, for the rest of the process.

    glibc hands large blocks back to the kernel and gets them back zeroed at every step, which costs time in a training on a
    processor. It is for commands: a library leaves its caller's allocator alone. Does nothing with another C library.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL("libc.so.6").mallopt
        for parameter, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_TOP_PAD, 1 << 28)):
            mallopt(parameter, value)
