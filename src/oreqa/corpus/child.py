"""Child processes that open files whose formats can hang, crash or exhaust memory: start, messages and limits.

A message is an eight-byte big-endian length followed by that many bytes.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

_LENGTH = struct.Struct(">Q")

CLOCK_FACTOR = 5
"""Wall-clock limit as a multiple of the CPU limit, so that files do not time out on a busy machine."""


def start_child(code: str, memory: int) -> subprocess.Popen[bytes]:
    """Start a process of the same Python that runs ``code``. Raises OSError if it cannot be started.

    The code imports a function, and calls it with the integers in ``sys.argv[2:]``, which ``begin_child`` takes: this
    process, and the bytes of memory.
    """
    # Not "python -m": that looks for modules in the current folder first, and untrusted documents may lie there.
    code = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); {code}"
    path = [str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)]
    command = [sys.executable, "-I", "-c", code, json.dumps(path), str(os.getpid()), str(memory)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)


def stop_child(child: subprocess.Popen[bytes], patience: float = 0) -> int:
    """Wait ``patience`` seconds for a child to end, then kill it. Returns its exit status."""
    try:
        code = child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        code = child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()
    return code


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message to an unbuffered stream."""
    for part in (_LENGTH.pack(len(message)), message):
        left = memoryview(part)
        while left:
            left = left[stream.write(left) :]


def receive(stream: IO[bytes]) -> bytes | None:
    """Read the next message; None at the end of the stream, even if it ends within a message."""
    head = _read(stream, _LENGTH.size)
    return None if head is None else _read(stream, _LENGTH.unpack(head)[0])


def _read(stream: IO[bytes], length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        part = stream.read(min(length - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


def begin_child(parent: int, memory: int) -> tuple[IO[bytes], IO[bytes]]:
    """In the child, before all else: limit its memory, make it end with its parent, and return its requests and replies.

    On platforms without such limits, only the parent's timer remains.
    """
    requests, replies = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)  # what a library prints must not mix with the replies
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    limit_memory(memory)
    return requests, replies


def _exit_with(parent: int) -> None:
    """Exit when the parent is gone: a killed parent cannot tell its child to stop."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def limit_memory(memory: int) -> None:
    """Limit this process's address space, in bytes."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def limit_time(seconds: int) -> None:
    """Limit this process to ``seconds`` more CPU seconds."""
    try:
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        used = int(usage.ru_utime + usage.ru_stime) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


def extend_time(seconds: int) -> None:
    """Allow this process ``seconds`` more CPU seconds, in addition to what ``limit_time`` has left."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_CPU, (soft + seconds, hard))
    except (ImportError, ValueError, OSError):
        return


def peak_memory() -> int:
    """Return this process's peak resident memory in bytes; 0 if the platform does not report it."""
    with suppress(OSError):  # Linux: ru_maxrss starts from the parent's size when it started this process
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    except ImportError:
        return 0
