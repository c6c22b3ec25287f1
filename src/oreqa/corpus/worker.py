"""What runs in a process of its own: the formats whose libraries can hang, crash or fill the memory.

A message is its length in eight bytes and then its bytes. For each file come three: its path, the seconds it may take, and
its bytes. One goes back, the document or the reason why there is none, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from oreqa.core import Document
from oreqa.corpus.formats import docx, epub, html, mail, markdown, odf, pdf, pptx, xlsx
from oreqa.errors import DocumentError, describe

PARSERS: dict[str, Callable[[bytes, Path], Document]] = {
    ".md": markdown.read_markdown,
    ".markdown": markdown.read_markdown,
    ".html": html.read_html,
    ".htm": html.read_html,
    ".xhtml": html.read_html,
    ".epub": epub.read_epub,
    ".eml": mail.read_mail,
    ".pdf": pdf.read_pdf,
    ".docx": docx.read_docx,
    ".pptx": pptx.read_pptx,
    ".xlsx": xlsx.read_xlsx,
    ".odt": odf.read_odf,
    ".ods": odf.read_odf,
    ".odp": odf.read_odf,
}

_LENGTH = struct.Struct(">Q")


def send(stream: IO[bytes], message: bytes) -> None:
    """Write a message to an unbuffered stream."""
    for part in (_LENGTH.pack(len(message)), message):
        left = memoryview(part)
        while left:
            left = left[stream.write(left) :]


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None at the end of the stream, also if it ends within a message."""
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


def serve(parent: int, memory: int) -> None:
    """Parse files until the process ``parent`` is gone or has no more, each within its seconds of processor time.

    ``memory`` bounds this process, in bytes. Platforms without these limits go without; the parent's clock remains.
    """
    requests, replies = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # whatever a library prints must not mix with the replies
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _limit_memory(memory)
    last = False
    while not last:
        path, seconds, data = receive(requests), receive(requests), receive(requests)
        if path is None or seconds is None or data is None:
            return
        _limit_time(int(seconds))
        reply = _parse(Path(path.decode()), data, memory)
        # Memory that one file took may not come back: the next one is owed all of it.
        last = "memory" in reply or _peak_memory() > memory // 4
        send(replies, json.dumps({**reply, "last": last}).encode())


def _parse(path: Path, data: bytes, memory: int) -> dict[str, Any]:
    try:
        document = PARSERS[path.suffix.lower()](data, path)
        return {"document": asdict(document)}
    except MemoryError:
        return {"memory": True}
    except Exception as error:  # foreign parsers raise whatever they like, and not all say that it is the memory
        if _peak_memory() > memory // 2:
            return {"memory": True}
        return {"error": str(error) if isinstance(error, DocumentError) else f"it is damaged ({describe(error)})"}


def _end_with(parent: int) -> None:
    """A parent that was killed cannot say so."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def _limit_memory(memory: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def _limit_time(seconds: int) -> None:
    try:
        import resource

        usage = resource.getrusage(resource.RUSAGE_SELF)
        used = int(usage.ru_utime + usage.ru_stime) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


def _peak_memory() -> int:
    """Bytes that this process has held at the most; 0 where nothing tells."""
    with suppress(OSError):  # Linux: ru_maxrss begins with what the parent held when it started this process
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    except ImportError:
        return 0
