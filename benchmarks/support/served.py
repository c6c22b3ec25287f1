"""A server of an index in a separate process, its CPU time and memory, and clients that ask it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import squad, write_paragraph_files

from oreqa.errors import OreqaError
from oreqa.index.ingest import index_files

HOST, STARTING = "127.0.0.1", 300.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """The process of a server, and its port."""

    process: subprocess.Popen[bytes]
    port: int

    def cpu_seconds(self) -> float:
        """Return the CPU time used so far, of all threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_mb(self) -> float:
        """Return the resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def paragraph_index(data: Path, work: Path, count: int) -> tuple[Path, list[str]]:
    """Index ``count`` of SQuAD dev's paragraphs in ``work``, one file each; return the index and their questions."""
    paragraphs = squad(data)[:count]
    folder, index = work / f"texts-{count}", work / f"index-{count}"
    write_paragraph_files(paragraphs, folder)
    index_files(index, [folder])
    return index, [question.text for paragraph in paragraphs for question in paragraph.questions]


@contextmanager
def server_of(index: Path, work: Path, *options: str) -> Iterator[Server]:
    """Start a server of an index with the usual models and these options; its log is work/serve.log."""
    with socket.create_server((HOST, 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "oreqa", "serve", "--index", str(index), "--port", str(port), *options]
    with (work / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
        try:
            _wait_until_ready(process, port)
            yield Server(process, port)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + STARTING
    while time.monotonic() < end and process.poll() is None:
        try:
            if Client(port).request("GET", "/readyz")[0] == 200:
                return
        except OSError:
            time.sleep(0.2)
    raise OreqaError("the server did not start: its log says why")


class Client:
    """A connection that stays open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=120)

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the body of a reply; a body that is not text is sent as JSON."""
        sent = body if body is None or isinstance(body, str) else json.dumps(body)
        kind = {} if sent is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, sent, {**kind, **(headers or {})})
        response = self._connection.getresponse()
        return response.status, response.read()

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        self._connection.close()


def by_clients(port: int, count: int, work: Sequence[Any], ask: Callable[[Client, Any], Any]) -> list[Any]:
    """Return the results of ``ask`` for each piece of work, which ``count`` clients share, in the order of the work."""
    shares = [work[first::count] for first in range(count)]

    def ask_share(share: Sequence[Any]) -> list[Any]:
        client = Client(port)
        return [ask(client, piece) for piece in share]

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(ask_share, shares))
    return [results[place % count][place // count] for place in range(len(work))]
