"""``oreqa serve`` as a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def server_process(*arguments: object, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The running command with these arguments, killed in the end."""
    command = [sys.executable, "-m", "oreqa", "serve", *map(str, arguments)]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def wait_until_ready(client: httpx.Client, started: subprocess.Popen[str]) -> None:
    """Wait until the server answers questions."""
    for _ in range(600):
        assert started.poll() is None, started.communicate()
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError("the server does not start")
