"""The child process that keeps an index like its folders, so that the server itself writes none.

One message asks: JSON that names the index and the paths. Each reply is JSON: what it does, and what came of an update.
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
"""Answers come first: by so much the priority of updates is lower."""


def follow_folders(parent: int, memory: int) -> None:
    """Update an index whenever files change, until the process ``parent`` exits or closes the stream of requests."""
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
    """An update that tells of itself, and returns whether it succeeded."""

    def run() -> bool:
        begun = time.time()
        tell(updating=True)
        try:
            failed = update()
        except OreqaError as error:
            tell(updating=False, error=str(error))
            return False
        tell(updating=False, error="", failed=failed, begun=begun, updated=time.time())
        return True

    return run


def _end_with(requests: IO[bytes]) -> None:
    """Exit when the server closes its end. An update that is under way is dropped, and leaves nothing half done."""
    receive(requests)
    os._exit(0)
