from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.errors import InputError
from oreqa.server.listening import listen, listen_on_file


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
    with listen_on_file(place):  # the first one has ended and left its file
        pass
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InputError, match="there is a file"):
        listen_on_file(file)
    assert file.read_text() == "mine"
    with pytest.raises(InputError, match="cannot be made"):
        listen_on_file(tmp_path / "missing" / "s")
