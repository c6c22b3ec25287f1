from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.as_json import document_id
from oreqa.cli import app
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings

pytest.importorskip("fastapi", reason="the serve extra is not installed")
import httpx
from server_process import free_port, server_process, wait_until_ready

from oreqa.server.listening import listen_on_file

ROOT = Path(__file__).parents[2]


def run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(app, ["serve", *map(str, arguments)], env=environment)


def one_line(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


@pytest.fixture
def kb(tmp_path: Path, fitted: Path) -> Path:
    index_documents(tmp_path / "kb", "Bees dance. The queen lays eggs.", settings=Settings(str(fitted)))
    return tmp_path / "kb"


def test_what_is_wrong_is_said_in_one_line(kb: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("short")
    token.chmod(0o600)
    assert "there is no index here" in one_line(run("--index", tmp_path / "none", "--port", free_port()))
    assert "--token-file" in one_line(run("--index", kb, "--host", "0.0.0.0", OREQA_TOKEN=""))
    assert "a token is 16 or more" in one_line(run("--index", kb, "--token-file", token))
    assert "cannot be read" in one_line(run("--index", kb, "--token-file", tmp_path / "no token"))
    assert "OREQA_TOKEN: a token is" in one_line(run("--index", kb, OREQA_TOKEN="short"))
    assert "--allow-host" in one_line(run("--index", kb, OREQA_HOST="0.0.0.0", OREQA_TOKEN="a-token-of-some-length"))
    assert "two collections" in one_line(run("--index", kb, "--index", kb))
    assert "no-such-reader" in one_line(run("--index", kb, "--reader", "no-such-reader", "--port", free_port()))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} is in use" in one_line(run("--index", kb, "--port", port))
        assert f"port {port} is in use" in one_line(run("--index", kb, OREQA_PORT=str(port)))


def test_the_page_is_opened_where_browsers_reach_it(
    kb: Path, fitted_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("oreqa.server.listening.run_server", lambda application, listener: time.sleep(0.1))
    port = free_port()
    arguments = ("--index", kb, "--reader", fitted_reader, "--port", port, "--open")
    assert run(*arguments).exit_code == 0
    beyond = {"OREQA_TOKEN": "a-token-of-some-length", "OREQA_ALLOW_HOST": "kb.example.org"}
    assert run(*arguments, "--host", "0.0.0.0", **beyond).exit_code == 0
    assert opened == [f"http://127.0.0.1:{port}", "http://kb.example.org"]
    assert "leave --socket out" in one_line(run(*arguments, "--socket", tmp_path / "socket"))


def test_uploads_that_nothing_watches_are_named(
    kb: Path, fitted_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oreqa.server.listening.run_server", lambda application, listener: None)
    (inbox := tmp_path / "docs/inbox").mkdir(parents=True)
    arguments = ("--index", kb, "--reader", fitted_reader, "--port", free_port(), "--uploads", inbox)
    note = f"nothing watches {inbox}: oreqa index adds the files that clients send"
    assert note in run(*arguments).stderr.splitlines()
    assert "nothing watches" not in run(*arguments, "--watch", inbox.parent).stderr


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_the_socket_of_a_server_that_started_meanwhile_stays(
    kb: Path, fitted_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    successors: list[socket.socket] = []

    def end_and_start_another(_: object, listener: socket.socket) -> None:
        listener.close()
        successors.append(listen_on_file(place))

    monkeypatch.setattr("oreqa.server.listening.run_server", end_and_start_another)
    assert run("--index", kb, "--reader", fitted_reader, "--socket", place).exit_code == 0
    with successors[0]:
        assert place.exists()
    assert "no index here" in one_line(run("--index", tmp_path / "none", "--socket", place))
    assert not place.exists()


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_kernels_are_limited_before_a_model_is_loaded(kb: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    kernels: list[str | None] = []

    def refuse(*_: object, **__: object) -> None:
        kernels.append(os.environ.get("ONEDNN_PRIMITIVE_CACHE_CAPACITY"))
        raise InputError("enough")

    monkeypatch.setattr("oreqa.server.collections.open_collections", refuse)
    for number in ("7", None):
        monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", number or "")
        if number is None:
            monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
        port = ("--port", str(free_port())) if command == "serve" else ()
        assert CliRunner().invoke(app, [command, "--index", str(kb), *port]).exit_code == 2
    assert kernels == ["7", "32"]


def test_without_the_extra_the_error_says_how_to_install_it(kb: Path) -> None:
    code = f"import sys; sys.modules['fastapi'] = None\nfrom oreqa.cli import app; app(['serve', '--index', {str(kb)!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the server needs the serve extra (fastapi is not installed)" in done.stderr
    assert "pip install 'oreqa[serve]'" in done.stderr


def test_other_commands_import_no_part_of_the_server(kb: Path, fitted_reader: Path) -> None:
    code = (
        "import sys; from oreqa.cli import app\n"
        f"app(['ask', 'who dances?', '--index', {str(kb)!r}, '--reader', {str(fitted_reader)!r}, '--json'], standalone_mode=False)\n"
        "wrong = {'fastapi', 'starlette', 'uvicorn', 'mcp', 'prometheus_client', 'watchfiles', 'oreqa.server'}\n"
        "assert not wrong & set(sys.modules), wrong & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.system
def test_a_server_ends_after_what_was_asked_before(kb: Path, fitted_reader: Path) -> None:
    port = free_port()
    with server_process("--index", f"bees={kb}", "--port", port, "--reader", fitted_reader) as started:
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
        wait_until_ready(client, started)
        statuses: list[int] = []

        def ask() -> None:
            with httpx.Client(base_url=client.base_url, timeout=60, trust_env=False) as other:
                response = other.post("/v1/batch", json={"questions": ["Who dances?"] * 100})
                statuses.append(response.status_code)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        while client.get("/v1/status").json()["waiting"] == 0 and not statuses:
            time.sleep(0.005)
        client.close()
        started.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert statuses == [200] * 3
        _, log = started.communicate(timeout=60)
        assert started.returncode == 0
        lines = [json.loads(line) for line in log.splitlines()[1:]]
        assert [line["message"] for line in (lines[0], lines[-1])] == ["started", "stopped"]
        assert "Traceback" not in log


@pytest.mark.system
@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no Unix sockets")
def test_a_unix_socket_and_a_token_in_the_environment(kb: Path, fitted_reader: Path, tmp_path: Path) -> None:
    token, place = "a-token-of-some-length", tmp_path / "s"
    arguments = ("--index", kb, "--socket", place, "--reader", fitted_reader, "--rate", 3)
    with server_process(*arguments, OREQA_TOKEN=token) as started:
        transport = httpx.HTTPTransport(uds=str(place))
        with httpx.Client(base_url="http://localhost", transport=transport, timeout=60) as client:
            wait_until_ready(client, started)
            assert client.get("/v1/status").status_code == 401
            headers = {"authorization": f"Bearer {token}"}
            reply = client.post("/v1/ask", json={"question": "Who dances?"}, headers=headers)
            assert reply.status_code == 200
            for address in ("10.0.0.1", "10.0.0.2"):  # what a proxy says of its clients, behind what they say themselves
                request_headers = {**headers, "x-forwarded-for": f"{time.monotonic()}, {address}"}
                assert [client.post("/logout", headers=request_headers).status_code for _ in range(4)] == [204] * 3 + [429]
            started.send_signal(signal.SIGINT)
            _, log = started.communicate(timeout=60)
        assert "Traceback" not in log
        assert token not in log
        assert not place.exists()


@pytest.mark.system
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not here")
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    from drawn_pdf import pdf

    token = "a-token-of-some-length"
    (docs := tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "demo/library/octopus.md", docs)
    (docs / "warranty.pdf").write_bytes(pdf(["The warranty of the tent lasts two years. It ends when the owner sells it."]))
    for file in docs.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))
    assert CliRunner().invoke(app, ["index", str(docs), "--index", str(tmp_path / "kb")]).exit_code == 0
    port = free_port()
    page = (ROOT / "docs" / "http.md").read_text().replace("8765", str(port))
    for name in ("octopus.md", "warranty.pdf"):
        assert document_id(name) in page
        page = page.replace(document_id(name), document_id(str(docs / name)))
    (inbox := tmp_path / "inbox").mkdir()
    (tmp_path / "notes.md").write_text("An owl hoots.")
    with server_process("--index", tmp_path / "kb", "--port", port, "--uploads", inbox) as started:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            wait_until_ready(client, started)
            described = client.get("/openapi.json").json()["paths"]
        routes = {(method.upper(), path) for path, methods in described.items() for method in methods}
        titles = re.findall(r"^### (GET|POST|DELETE) (\S+)$", page, re.MULTILINE)
        written = {(method, path.replace("{id}", "ID").replace("{number}", "N")) for method, path in routes}
        assert set(titles) == written | {("POST", "/mcp"), ("GET", "/openapi.json")}
        (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True)
        assert (done.returncode, "three hearts" in done.stdout) == (0, True), done
        calls = re.findall(r"^\$ (curl .*)$", page, re.MULTILINE)
        assert len(calls) == len(titles)
        for (method, path), call in zip(titles, calls, strict=True):
            status, output = curl(call, tmp_path)
            statuses = {"/logout": 204, "/login": 401, "/v1/uploads": 201}
            assert status == (204 if method == "DELETE" else statuses.get(path, 200)), (call, output)
            assert SHOWN.get(path, "") in output, output
        assert (inbox / "notes.md").read_text() == "An owl hoots."
        assert (tmp_path / "page.webp").read_bytes().startswith(b"RIFF")
    with server_process("--index", tmp_path / "kb", "--port", port, OREQA_TOKEN=token) as started:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            wait_until_ready(client, started)
        (login,) = (call for call in calls if call.endswith("TOKEN\"}'"))
        assert curl(login.replace("TOKEN", token), tmp_path)[0] == 204
        assert curl(f"curl -s -b cookies.txt http://127.0.0.1:{port}/v1/status", tmp_path)[0] == 200


SHOWN = {
    "/v1/ask": '"text":"three"',
    "/v1/batch": '"text":"two years"',
    "/v1/search": "eight arms",
    "/v1/explain": '"stage"',
    "/v1/documents": "octopus.md",
    "/v1/documents/ID": '"source":"same"',
    "/v1/documents/ID/text": "three hearts",
    "/v1/documents/ID/original": "# Octopus",
    "/v1/documents/ID/boxes": '"page_count":1',
    "/v1/marks": "How long is the warranty?",
    "/mcp": '"name":"fetch"',
    "/metrics": "oreqa_questions_total",
}
"""What the examples of the page on the API show."""


def curl(call: str, folder: Path) -> tuple[int, str]:
    """The status and the output of a call of curl."""
    words = [*shlex.split(call), "-w", "\n%{http_code}"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done
    output, _, status = done.stdout.rpartition("\n")
    return int(status), output


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not here")
def test_systemd_takes_the_unit_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "serving.md").read_text()
    (unit,) = re.findall(r"^```ini\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert "/opt/oreqa/.venv/bin/oreqa serve " in unit
    (tmp_path / "oreqa.service").write_text(unit.replace("/opt/oreqa/.venv/bin/oreqa", shutil.which("true") or ""))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "oreqa.service"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done
