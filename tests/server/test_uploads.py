"""Files that clients send: kept under their own names, or refused, and nothing half received is left."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.as_json import document_id
from oreqa.errors import InputError
from oreqa.server import uploads
from oreqa.server.collections import ServedCollection
from oreqa.server.problems import RefusedError
from oreqa.server.settings import Access
from oreqa.server.uploads import checked_name, keep_file, need_uploads_folder


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def taking(collections: dict[str, ServedCollection], inbox: Path) -> Iterator[httpx.Client]:
    with served(collections, uploads=inbox) as client:
        yield client


def send(client: httpx.Client, name: str, content: bytes = b"Whales sing.", field: str = "file") -> httpx.Response:
    return client.post("/v1/uploads", files={field: (name, content)})


def test_a_file_is_kept_under_its_name_and_never_overwritten(taking: httpx.Client, inbox: Path) -> None:
    before = time.time()
    response = send(taking, "Whale song – 2.txt")
    assert before < response.json()["time"] < time.time()
    assert (response.status_code, response.json()["bytes"]) == (201, 12), response.text
    assert (inbox / "Whale song – 2.txt").read_bytes() == b"Whales sing."
    assert response.json()["document_id"] == document_id(str(inbox / "Whale song – 2.txt"))
    again = send(taking, "Whale song – 2.txt", b"Other.")
    assert (again.status_code, again.headers["content-type"]) == (409, "application/problem+json")
    assert [path.read_bytes() for path in inbox.iterdir()] == [b"Whales sing."]


@pytest.mark.parametrize("name", [
    "../a.txt", "a/b.txt", "/etc/a.txt", "..\\a.txt", "C:\\a.txt", "C:a.txt", "..", ".", ".hidden.txt", "a.txt ", "a.txt.",
    "a\x00b.txt", "a\x1b[1m.txt", "a\nb.txt", "a\u202ecod.txt", "a\U000e0041.txt", "a\u2028.txt", "\ud800.txt", "con.txt", "NUL.md",
    "Com1.tar.txt", "a.exe", "noending", "", "a" * 300 + ".txt", "a?.txt", "~a.txt",
])  # fmt: skip
def test_a_name_that_is_no_plain_one_is_refused(name: str) -> None:
    with pytest.raises(RefusedError) as refused:
        checked_name(name)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    "name", ["../a.txt", "a/../../b.txt", "..%2fa.txt\\..\\b.txt", "a\u202ecod.txt", "nul.txt", "a.exe"]
)
def test_nothing_is_written_for_a_refused_name(taking: httpx.Client, inbox: Path, name: str) -> None:
    response = send(taking, name)
    assert response.status_code == 400, response.text
    assert [*inbox.iterdir()] == []
    assert sorted(path.name for path in inbox.parent.iterdir()) == ["inbox"]


def test_links_and_folders_in_the_folder_are_not_written_through(inbox: Path, taking: httpx.Client, tmp_path: Path) -> None:
    target = tmp_path / "secret.txt"
    target.write_text("mine")
    (inbox / "link.txt").symlink_to(target)
    (inbox / "broken.txt").symlink_to(tmp_path / "nowhere.txt")
    (inbox / "folder.txt").mkdir()
    os.mkfifo(inbox / "pipe.txt")
    for name in ("link.txt", "broken.txt", "folder.txt", "pipe.txt"):
        assert send(taking, name).status_code == 409, name
    assert target.read_text() == "mine"
    assert not (tmp_path / "nowhere.txt").exists()
    assert len([*inbox.iterdir()]) == 4


def test_what_is_too_large_is_refused(taking: httpx.Client, inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_UPLOADS", 100)
    assert send(taking, "a.txt", b"x" * 60).status_code == 201
    assert send(taking, "b.txt", b"x" * 60).status_code == 413
    monkeypatch.setattr(uploads, "MAX_UPLOAD", 50)
    assert send(taking, "c.txt", b"x" * 60).status_code == 413
    monkeypatch.setattr(uploads, "_FORM_BYTES", 0)
    assert send(taking, "d.txt", b"x" * 60).status_code == 413
    assert [path.name for path in inbox.iterdir()] == ["a.txt"]


def test_another_form_is_refused(taking: httpx.Client, inbox: Path) -> None:
    assert send(taking, "a.txt", field="other").status_code == 400
    assert taking.post("/v1/uploads", json={"file": "x"}).status_code == 415
    assert taking.post("/v1/uploads", data={"file": "x"}).status_code == 415
    two = [("file", ("a.txt", b"x")), ("file", ("b.txt", b"x"))]
    assert taking.post("/v1/uploads", files=two).status_code == 400
    head = {"Content-Type": "multipart/form-data"}
    assert taking.post("/v1/uploads", content=b"x", headers=head).status_code == 400
    head["Content-Type"] += "; boundary=b"
    assert taking.post("/v1/uploads", content=b"no form", headers=head).status_code == 400
    assert [*inbox.iterdir()] == []


def test_a_half_received_file_leaves_nothing(taking: httpx.Client, inbox: Path) -> None:
    host, port = taking.base_url.host, taking.base_url.port
    with socket.create_connection((host, port or 0)) as client:
        form = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf of'
        head = (
            f"POST /v1/uploads HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 5000\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        )
        client.sendall(head.encode() + form)
        time.sleep(0.3)
    time.sleep(0.3)
    assert [*inbox.iterdir()] == []
    assert send(taking, "a.txt").status_code == 201


def test_it_is_off_by_default_and_on_a_read_only_server(collections: dict[str, ServedCollection], inbox: Path) -> None:
    with served(collections) as client:
        assert send(client, "a.txt").status_code in (404, 415)
        assert "/v1/uploads" not in client.get("/openapi.json").json()["paths"]
    with served(collections, Access(frozenset(), read_only=True), uploads=inbox) as client:
        assert send(client, "a.txt").status_code == 403
    token = "secret-secret-secret"
    with served(collections, Access(frozenset(), token), uploads=inbox) as client:
        assert send(client, "a.txt").status_code == 401
    assert [*inbox.iterdir()] == []


def test_a_full_disk_leaves_nothing(inbox: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (tmp_path / "a").open("w+b") as source, pytest.raises(RefusedError, match="No space left") as refused:
        keep_file(inbox, "a.txt", source, 0)
    assert (refused.value.status, [*inbox.iterdir()]) == (503, [])


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder; make it first"):
        need_uploads_folder(tmp_path / "none")
