"""The parent's side of worker.py: one child process that parses file after file, ended when a file exceeds its limits."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from oreqa.core import Document, PageWords, Place, Section
from oreqa.corpus import limits
from oreqa.corpus.worker import receive, send
from oreqa.errors import DocumentError

# Not "python -m": that would look for modules in the current folder first, and documents may lie there.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from oreqa.corpus.worker import serve; serve(*map(int, sys.argv[2:]))"
)
_PATIENCE = 5
"""A file may take this many times its seconds on the clock, for a busy machine makes no file hang."""


def parse(path: Path, data: bytes) -> Document:
    """The document that ``data`` holds, parsed in a child process. Raises DocumentError, whatever goes wrong there."""
    return _parser.parse(path, data)


def end_parser() -> None:
    """End the child process, if there is one. The next file starts another."""
    _parser.end()


class _Parser:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def parse(self, path: Path, data: bytes) -> Document:
        with self._lock:
            reply = json.loads(self._ask(path, data))
            if reply["last"]:
                self._stop()
        if "error" in reply:
            raise DocumentError(reply["error"])
        if "memory" in reply:
            raise DocumentError(f"reading it takes more than {limits.PARSE_BYTES >> 20} MB of memory: split it")
        return _document(reply["document"])

    def end(self) -> None:
        with self._lock:
            self._stop()

    def _ask(self, path: Path, data: bytes) -> bytes:
        child = self._child = self._child or _start()
        assert child.stdin
        assert child.stdout
        # The child limits its processor time by itself; the clock is for a child that cannot, or that waits.
        late = threading.Event()

        def expire() -> None:
            late.set()
            child.kill()

        seconds = limits.parse_seconds(len(data))
        clock = threading.Timer(_PATIENCE * seconds, expire)
        clock.daemon = True
        clock.start()
        answer = None
        try:
            with contextlib.suppress(OSError):  # of a pipe whose other end is gone
                for message in (str(path).encode(), str(seconds).encode(), data):
                    send(child.stdin, message)
                answer = receive(child.stdout)
        except BaseException:
            self._stop()  # its answer to this file would be taken for that to the next
            raise
        finally:
            clock.cancel()
            clock.join()
        if answer is None:
            code = self._stop(patience=1)
            if late.is_set() or code == -getattr(signal, "SIGXCPU", 0):
                raise DocumentError(f"reading it takes more than {seconds} seconds: split it")
            raise DocumentError("its reader crashed: save it in another format")
        return answer

    def _stop(self, patience: float = 0) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        try:
            code = child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe:
                pipe.close()
        return code


def _document(row: dict[str, Any]) -> Document:
    parts = {"sections": Section, "places": Place, "pages": PageWords}
    return Document(**{**row, **{name: tuple(kind(**part) for part in row[name]) for name, kind in parts.items()}})


def _start() -> subprocess.Popen[bytes]:
    path = [str(Path(__file__).parents[2]), *(entry for entry in sys.path if entry)]
    command = [sys.executable, "-I", "-c", _START, json.dumps(path), str(os.getpid()), str(limits.PARSE_BYTES)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    try:
        return subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=nowhere)
    except OSError as error:
        raise DocumentError(
            f"the process that reads such files cannot be started: {sys.executable}: {error.strerror}"
        ) from error


def _forget() -> None:
    """A forked process must not talk to its parent's child."""
    global _parser
    _parser = _Parser()


_parser = _Parser()
atexit.register(end_parser)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
