"""A real server on loopback, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx

from oreqa.server.app import create_app
from oreqa.server.collections import ServedCollection
from oreqa.server.guard import Application
from oreqa.server.listening import uvicorn_server
from oreqa.server.settings import Access


@contextmanager
def served(
    collections: Mapping[str, ServedCollection],
    access: Access | None = None,
    wrap: Callable[[Application], Application] = lambda application: application,
    log_questions: bool = False,
    **options: Any,
) -> Iterator[httpx.Client]:
    """A client of a server of these collections, which answers for its own address and the hosts of ``access``."""
    listener = socket.create_server(("127.0.0.1", 0))
    host = f"127.0.0.1:{listener.getsockname()[1]}"
    who = access or Access(frozenset())
    who = replace(who, hosts=who.hosts | {host})
    application = wrap(create_app(collections, who, log_questions=log_questions, **options))
    server = uvicorn_server(application)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://{host}", timeout=60, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
