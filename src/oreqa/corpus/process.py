"""Parses files in a child process (worker.py), which is killed and replaced when a file exceeds its limits."""

from __future__ import annotations

import atexit
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oreqa.core import Document, PageWords, Place, Section
from oreqa.corpus import limits
from oreqa.corpus.child import CLOCK_FACTOR, receive, send, start_child, stop_child
from oreqa.corpus.worker import MORE
from oreqa.errors import DocumentError

_START = "from oreqa.corpus.worker import serve; serve(*map(int, sys.argv[2:]))"


def parse(path: Path, data: bytes) -> tuple[Document, list[tuple[str, bytes]]]:
    """Parse ``data`` in the child process; return the document, and the files attached to it with their names.

    Raises DocumentError for any failure of the child, including crashes.
    """
    return _parser.parse(path, data)


def end_parser() -> None:
    """Stop the child process, if one is running. The next file starts a new one."""
    _parser.end()


class _Parser:
    """Owns the child process. The lock admits one file at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def parse(self, path: Path, data: bytes) -> tuple[Document, list[tuple[str, bytes]]]:
        with self._lock:
            reply = json.loads(self._request(path, data))
            if reply["last"]:
                self._stop()
        if "error" in reply:
            raise DocumentError(reply["error"])
        if "memory" in reply:
            raise DocumentError(f"parsing it takes more than {reply['memory'] >> 20} MB of memory: split it")
        return _document(reply["document"]), [(name, base64.b64decode(content)) for name, content in reply["attached"]]

    def end(self) -> None:
        with self._lock:
            self._stop()

    def _request(self, path: Path, data: bytes) -> bytes:
        child = self._child = self._child or _started()
        assert child.stdin
        assert child.stdout
        # The child limits its own CPU time. This timer is for platforms without that limit, and for a child that blocks.
        timed_out = threading.Event()

        def expire() -> None:
            timed_out.set()
            child.kill()

        seconds = limits.parse_seconds(len(data))
        start = time.monotonic()
        timer = _started_timer(CLOCK_FACTOR * seconds, expire)
        reply = None
        try:
            with contextlib.suppress(OSError):  # a broken pipe: the child is gone
                for message in (str(path).encode(), str(seconds).encode(), data):
                    send(child.stdin, message)
                while (reply := receive(child.stdout)) == MORE:
                    timer.cancel()
                    seconds += limits.OCR_SECONDS
                    timer = _started_timer(start + CLOCK_FACTOR * seconds - time.monotonic(), expire)
        except BaseException:
            self._stop()  # a late reply to this file would be taken for the next one's
            raise
        finally:
            timer.cancel()
            timer.join()
        if reply is None:
            code = self._stop(patience=1)
            if timed_out.is_set() or code == -getattr(signal, "SIGXCPU", 0):
                raise DocumentError(f"parsing it takes more than {seconds} seconds: split it")
            raise DocumentError("the parser crashed on it: save it in another format")
        return reply

    def _stop(self, patience: float = 0) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        return stop_child(child, patience)


def _started_timer(seconds: float, expire: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, expire)
    timer.daemon = True
    timer.start()
    return timer


def _document(row: dict[str, Any]) -> Document:
    parts = {"sections": Section, "places": Place, "pages": PageWords}
    tuples = {name: tuple(kind(**part) for part in row[name]) for name, kind in parts.items()}
    return Document(**{**row, **tuples, "layout": base64.b64decode(row["layout"])})


def _started() -> subprocess.Popen[bytes]:
    try:
        return start_child(_START, limits.PARSE_BYTES)
    except OSError as error:
        raise DocumentError(f"the process that parses it cannot be started: {sys.executable}: {error.strerror}") from error


def _forget() -> None:
    """Make a forked process start its own parser: it must not talk to its parent's child."""
    global _parser
    _parser = _Parser()


_parser = _Parser()
atexit.register(end_parser)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
