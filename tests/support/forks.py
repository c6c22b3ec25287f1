"""Commands in forked processes: everything is imported once, so that a run takes a tenth of a second.

The process that forks must not load a model itself: its threads would not survive.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

import oreqa.cli

HANGS = 60.0
"""Seconds after which a child counts as hanging, and is killed."""


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: the signal), what it printed and what its task returned."""

    code: int
    out: str
    err: str
    value: Any

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def failure(self) -> str:
        """What must never be seen: a traceback's last line, an internal error, or the signal that ended the child."""
        if self.code < 0:
            return f"signal {-self.code}"
        lines = self.err.strip().splitlines()
        failed = "Traceback (most recent call last)" in self.err or any(line.startswith("internal error") for line in lines)
        return lines[-1] if failed else ""


def command(*arguments: object) -> None:
    """Run a command line in this process, and exit as it would."""
    sys.argv = ["oreqa", *map(str, arguments)]
    oreqa.cli.main()


class Child:
    """A forked process that runs ``task``, whose result must be JSON."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self._files = [tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") for _ in range(3)]
        self.process = os.fork()
        if not self.process:
            _run(task, *self._files)

    def wait(self, seconds: float = HANGS) -> Ended:
        """The child's end; after ``seconds`` it is killed, and its code is that of SIGALRM."""
        end = time.monotonic() + seconds
        while True:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                code = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() > end:
                os.kill(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                code = -signal.SIGALRM
                break
            time.sleep(0.002)
        out, err, value = (_text(file) for file in self._files)
        return Ended(code, out, err, json.loads(value) if value else None)


def run(task: Callable[[], Any], seconds: float = HANGS) -> Ended:
    """Run a task in a child."""
    return Child(task).wait(seconds)


def warm_up(task: Callable[[], Any]) -> None:
    """Run a task in a child and import here what it imported, so that later children need not."""

    def imports() -> list[str]:
        with suppress(SystemExit):
            task()
        return sorted(sys.modules)

    for name in ["oreqa.models.graph.quiet_openvino", *run(imports).value]:  # first: OpenVINO without its telemetry
        with suppress(ImportError):
            importlib.import_module(name)


def _run(task: Callable[[], Any], out: IO[str], err: IO[str], value: IO[str]) -> None:
    code = 1
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = out, err
        json.dump(task(), value)
        value.flush()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc(file=err)
    finally:
        out.flush()
        err.flush()
        os._exit(code)


def _text(file: IO[str]) -> str:
    file.seek(0)
    text = file.read()
    file.close()
    return text
