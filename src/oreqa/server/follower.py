"""The child process that keeps an index in sync with its folders, so that the server itself writes none.

The one request is JSON with the index and the paths. Each reply is JSON: what it is doing, and the outcome of an update.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from oreqa.corpus.child import begin_child, receive, send
from oreqa.errors import OreqaError
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.watching import Watch

_NICER = 5
"""Niceness added to updates, so that answers come first."""


def follow_folders(parent: int, memory: int) -> None:
    """Update an index whenever files change, until the process ``parent`` exits or closes the stream."""
    requests, replies = begin_child(parent, memory)
    request = json.loads(receive(requests) or b"{}")
    folder, paths = Path(request["index"]), [Path(path) for path in request["paths"]]
    threading.Thread(target=_end_with, args=(requests,), daemon=True).start()
    with suppress(AttributeError, OSError):
        os.nice(_NICER)

    def tell(**state: Any) -> None:
        send(replies, json.dumps(state).encode())

    with Index.open(folder) as index:
        encoder = index.encoder
    watch = Watch(folder, paths, on_mode=lambda reason: tell(polling=reason))
    watch.run(_updating(lambda: index_files(folder, paths, encoder=encoder).problems, tell), threading.Event())


def _updating(update: Callable[[], list[str]], tell: Callable[..., None]) -> Callable[[], bool]:
    """Return an update that reports its progress and returns whether it succeeded."""

    def run() -> bool:
        started = time.time()
        tell(updating=True)
        try:
            failed = update()
        except OreqaError as error:
            tell(updating=False, error=str(error))
            return False
        tell(updating=False, error="", failed=failed, begun=started, updated=time.time())
        return True

    return run


def _end_with(requests: IO[bytes]) -> None:
    """Exit when the server closes its end. A running update is dropped and leaves nothing half done."""
    receive(requests)
    os._exit(0)
