from __future__ import annotations

import asyncio
import socket
import stat
import time
from collections.abc import MutableMapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from served import served

from oreqa.errors import InputError
from oreqa.server import listening
from oreqa.server.collections import ServedCollection
from oreqa.server.guard import Receive, Send, client_of
from oreqa.server.listening import listen, listen_on_file, with_forwarded_client


def test_a_port_in_use_is_named_with_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use.*--port {port + 1}"):
            listen("127.0.0.1", port)
    with listen("127.0.0.1", port) as listener:
        assert listener.getsockname() == ("127.0.0.1", port)


def unknown(*_: object, **__: object) -> None:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_an_address_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot listen there"):
        listen("192.0.2.1", 0)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match="no such address"):
        listen("kb.example.org", 0)
    monkeypatch.undo()
    with pytest.raises(InputError, match="no such address"):
        listen("a" * 70 + ".example", 0)


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_a_unix_socket_is_private_and_that_of_an_ended_server_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with listen_on_file(place):
        assert stat.S_IMODE(place.stat().st_mode) == 0o660
        with pytest.raises(InputError, match="another server listens there"):
            listen_on_file(place)
    assert not place.exists()
    with closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(str(place))  # a server that has crashed left its file
    with listen_on_file(place):
        assert place.exists()
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match="there is a file"):
        listen_on_file(file)
    assert file.read_text() == "mine"
    with pytest.raises(InputError, match="cannot be made"):
        listen_on_file(tmp_path / "missing" / "s")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_a_server_that_ends_leaves_the_socket_of_its_successor(tmp_path: Path) -> None:
    place = tmp_path / "s"
    first = listen_on_file(place)
    place.unlink()
    with listen_on_file(place), closing(socket.socket(socket.AF_UNIX)) as client:
        first.close()
        client.connect(str(place))
    assert not place.exists()
    first.close()  # once more does no harm


@pytest.mark.parametrize(
    ("named", "client"),
    [
        (["9.9.9.9"], "9.9.9.9"),
        (["1.1.1.1, 9.9.9.9"], "9.9.9.9"),
        (["1.1.1.1", "2001:db8::1"], "2001:db8::1"),
        ([], "unix"),
        ([""], "unix"),
    ],
)
def test_behind_a_socket_the_client_is_the_last_that_is_named(named: list[str], client: str) -> None:
    clients: list[str] = []

    async def application(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        clients.append(client_of(scope))

    async def nothing(*_: object) -> Any:
        return {}

    headers = [(b"x-forwarded-for", each.encode()) for each in named]
    scope = {"type": "http", "client": None, "headers": headers}
    asyncio.run(with_forwarded_client(application)(scope, nothing, nothing))
    assert clients == [client]


def seconds_until_cut_off(connection: socket.socket, data: bytes) -> float:
    """Send data byte by byte, ten a second, until the server closes the connection."""
    started = time.monotonic()
    connection.settimeout(0.1)
    for place in range(len(data)):
        try:
            connection.sendall(data[place : place + 1])
            if connection.recv(1) == b"":
                return time.monotonic() - started
        except TimeoutError:
            continue
        except OSError:
            return time.monotonic() - started
    raise AssertionError("it takes all of them")


@pytest.mark.parametrize("before", [b"", b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n"])
def test_a_request_that_comes_byte_by_byte_is_cut_off(
    collections: dict[str, ServedCollection], monkeypatch: pytest.MonkeyPatch, before: bytes
) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.5)
    with served(collections) as client:
        url = client.base_url
        with closing(socket.create_connection((url.host, url.port or 0))) as connection:
            if before:  # the second request of a connection, after a while without any
                connection.sendall(before % f"{url.host}:{url.port}".encode())
                assert connection.recv(65536).startswith(b"HTTP/1.1 200")
                time.sleep(0.7)
            assert 0.4 < seconds_until_cut_off(connection, b"GET /healthz HTTP/1.1\r\nHost: a" + b"b" * 60) < 3
        with closing(socket.create_connection((url.host, url.port or 0))) as silent:
            silent.settimeout(5)
            assert silent.recv(1) == b""


def test_an_answer_may_take_longer_than_a_request(
    collections: dict[str, ServedCollection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.2)
    collection = next(iter(collections.values()))
    ask = collection.ask

    def slowly(*args: object, **settings: object) -> object:
        time.sleep(0.6)
        return ask(*args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(type(collection), "ask", lambda _, *args, **settings: slowly(*args, **settings))
    with served(collections) as client:
        assert client.post("/v1/ask", json={"question": "hearts?"}).status_code == 200
        assert client.get("/healthz").status_code == 200
