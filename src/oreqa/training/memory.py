"""Memory of a process that trains and does nothing else: the C library's allocator, and oneDNN's cache of kernels."""

from __future__ import annotations

import ctypes
import os
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


def limit_kernel_cache() -> None:
    """Let oneDNN keep the kernels of 32 shapes, not of 1,024, unless the user has set another number.

    Batches of texts hardly ever have the same shape, so that its cache grows with every step, to many gigabytes in bf16, and
    saves nothing. It reads the number when it computes for the first time.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
