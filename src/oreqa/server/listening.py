"""Listens on sockets and runs the server, from its start to the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import signal
import socket
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import h11
import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from oreqa.errors import InputError
from oreqa.server.guard import Application, Receive, Send
from oreqa.server.metrics import begin_log

SECONDS_TO_FINISH = 30
"""Seconds after SIGTERM to finish running requests."""

HEAD_SECONDS = 10.0
"""Seconds within which a request's line and headers must arrive."""

_KEPT_OPEN, _WAITING_CONNECTIONS = 30, 1024
_SOCKET_CLIENT = "unix"
"""The client of all requests through a Unix socket, which has no addresses."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address. Raises InputError if the port is in use or the address is not this machine's."""
    try:
        family, address = _resolved(host, port)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host {host}: there is no such address ({getattr(error, 'strerror', error)})") from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_WAITING_CONNECTIONS)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} is in use; stop what uses it, or choose another: --port {port + 1}") from None
        raise InputError(f"{host}:{port}: the server cannot listen there ({error.strerror})") from None
    return listener


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    """Return an address as a socket takes it; numeric addresses are not looked up."""
    try:
        is_new = ipaddress.ip_address(host).version == 6
        return (socket.AF_INET6, (host, port, 0, 0)) if is_new else (socket.AF_INET, (host, port))
    except ValueError:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return family, address


class FileListener(socket.socket):
    """A Unix socket that removes its file before it closes, if that file is still its own.

    While the socket is open, no other file can get the inode number of its own.
    """

    _file: tuple[Path, int, int] | None = None

    def bind_file(self, path: Path) -> None:
        """Bind the socket to a path."""
        self.bind(str(path))
        status = path.lstat()
        self._file = path, status.st_dev, status.st_ino

    def close(self) -> None:
        """Close the socket."""
        if self._file is not None:
            path, device, number = self._file
            self._file = None
            with contextlib.suppress(OSError):
                status = path.lstat()
                if (status.st_dev, status.st_ino) == (device, number):
                    path.unlink()
        super().close()


def listen_on_file(path: Path) -> socket.socket:
    """Return a Unix socket that its owner and group may use; its file is removed when it is closed.

    Raises InputError if another server uses it, or if the file cannot be created.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise InputError("--socket: this system has no such sockets; use --port")
    listener = FileListener(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        before = os.umask(0o117)
        try:
            listener.bind_file(path)
        finally:
            os.umask(before)
        listener.listen(_WAITING_CONNECTIONS)
    except InputError:
        listener.close()
        raise
    except OSError as error:
        listener.close()
        raise InputError(f"{path}: the socket cannot be made ({error.strerror or error})") from None
    return listener


def _remove_stale(path: Path) -> None:
    """Remove the socket of a server that has ended."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InputError(f"{path}: there is a file; name another one for the socket")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InputError(f"{path}: another server listens there; stop it, or name another file")


class PromptProtocol(H11Protocol):
    """HTTP/1.1 that disconnects clients which do not send the line and headers of a request within ``HEAD_SECONDS``."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, self._cut_off)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._waits():
            self._stop_waiting()
        elif self._late is None:  # the first bytes of another request
            self._late = self.loop.call_later(HEAD_SECONDS, self._cut_off)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _waits(self) -> bool:
        """Return whether the next request's head is incomplete."""
        return self.conn.their_state is h11.IDLE

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _cut_off(self) -> None:
        self._late = None
        if self._waits():
            self.transport.close()


def with_forwarded_client(application: Application) -> Application:
    """Wrap an application so that its client is the last one in X-Forwarded-For.

    The proxy before the Unix socket wrote that one; clients may have sent those before it.
    """
    trusting: Any = ProxyHeadersMiddleware(application, _SOCKET_CLIENT)  # type: ignore[arg-type]

    async def named(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        await trusting(scope if scope["type"] == "lifespan" else {**scope, "client": (_SOCKET_CLIENT, 0)}, receive, send)

    return named


def uvicorn_server(application: Application, is_file: bool = False) -> uvicorn.Server:
    """Return the server of an application; after SIGTERM it has ``SECONDS_TO_FINISH``.

    For requests through a Unix socket (``is_file``) or from this machine, the client is the last one in X-Forwarded-For.
    """
    config = uvicorn.Config(
        with_forwarded_client(application) if is_file else application,
        http=PromptProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=not is_file,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_keep_alive=_KEPT_OPEN,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def run_server(application: Application, listener: socket.socket) -> None:
    """Answer requests until SIGTERM or Ctrl-C, then finish those already received."""
    log = begin_log()
    log.info("started")
    # uvicorn raises the signals that it handled again at the end, for previous handlers.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        is_file = listener.family == getattr(socket, "AF_UNIX", None)
        uvicorn_server(application, is_file).run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    log.info("stopped")
