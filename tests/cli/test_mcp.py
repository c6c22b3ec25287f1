from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings

pytest.importorskip("mcp", reason="the serve extra is not installed")
import httpx
from mcp import Client, StdioServerParameters
from parameters import first_and_system
from server_process import free_port, server_process, wait_until_ready

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


def run(*arguments: object, **environment: str) -> Result:
    return CliRunner().invoke(app, ["mcp", *map(str, arguments)], env=environment)


def one_line(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


@pytest.fixture
def kb(tmp_path: Path, fitted: Path) -> Path:
    index_documents(tmp_path / "kb", "Bees dance. The queen lays eggs.", settings=Settings(str(fitted)))
    return tmp_path / "kb"


def start(kb: Path, reader: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "oreqa", "mcp", "--index", str(kb), "--reader", str(reader), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def send(started: subprocess.Popen[bytes], message: object) -> None:
    assert started.stdin
    started.stdin.write(json.dumps(message).encode() + b"\n")
    started.stdin.flush()


def test_what_is_wrong_is_said_in_one_line(kb: Path, tmp_path: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert "there is no index here" in one_line(run("--index", tmp_path / "none"))
    assert "two collections" in one_line(run("--index", kb, "--index", kb))
    assert "--base-url kb.example.org: write an address" in one_line(run("--index", kb, "--base-url", "kb.example.org"))
    assert "--link docs: write it as" in one_line(run("--index", kb, "--link", "docs"))
    assert "no-such-reader" in one_line(run("--index", kb, "--reader", "no-such-reader"))
    assert "--index" in one_line(run())
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_without_the_extra_the_error_says_how_to_install_it(kb: Path) -> None:
    code = f"import sys; sys.modules['mcp'] = None\nfrom oreqa.cli import app; app(['mcp', '--index', {str(kb)!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "(mcp is not installed): pip install 'oreqa[serve]'" in done.stderr


def test_help_imports_no_part_of_the_server() -> None:
    code = (
        "import sys; from oreqa.cli import app\n"
        "app(['--help'], standalone_mode=False); app(['mcp', '--help'], standalone_mode=False)\n"
        "wrong = {'fastapi', 'starlette', 'uvicorn', 'mcp', 'prometheus_client', 'oreqa.server'} & set(sys.modules)\n"
        "assert not wrong, wrong"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", first_and_system(["auto", "legacy"]))
def test_an_assistant_starts_it_and_asks(kb: Path, fitted_reader: Path, mode: Any) -> None:
    arguments = ["-m", "oreqa", "mcp", "--index", f"bees={kb}", "--reader", str(fitted_reader), "--threshold", "0"]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*arguments, "--base-url", "http://127.0.0.1:8765/"],
        env={name: os.environ[name] for name in ("PYTHONPATH", "OREQA_CACHE") if name in os.environ},
    )

    async def ask() -> Any:
        async with Client(parameters, mode=mode) as client:
            tools = await client.list_tools()
            answer = await client.call_tool("ask", {"question": "Who dances?", "limit": 1})
            wrong = await client.call_tool("ask", {"question": "?"})
            return [tool.name for tool in tools.tools], answer, wrong

    names, answer, wrong = asyncio.run(ask())
    assert names == ["search", "fetch", "ask"]
    (row,) = answer.structured_content["answers"]
    assert row["url"].startswith("http://127.0.0.1:8765/d/")
    assert (wrong.is_error, wrong.content[0].text) == (True, "question: a question has a letter or a digit")


@pytest.mark.system
@pytest.mark.parametrize("end", ["end of input", "SIGINT", "SIGTERM", "nobody reads"])
def test_it_ends_quietly(kb: Path, fitted_reader: Path, end: str) -> None:
    with start(kb, fitted_reader) as started:
        assert started.stdin
        assert started.stdout
        assert started.stderr
        send(started, INITIALIZE)
        reply = json.loads(started.stdout.readline())
        assert reply["result"]["serverInfo"]["name"] == "oreqa"
        if end == "end of input":
            started.stdin.close()
        elif end == "nobody reads":
            started.stdout.close()
            send(started, {**INITIALIZE, "id": 2})
            started.stdin.close()
        else:
            started.send_signal(getattr(signal, end))
        assert started.wait(30) == 0
        assert started.stderr.read() == b""
        if end != "nobody reads":
            assert started.stdout.read() == b""


@pytest.mark.system
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    port = free_port()
    page = (Path(__file__).parents[2] / "docs" / "assistants.md").read_text().replace("8765", str(port))
    octopus = str(Path(__file__).parents[2] / "demo/library/octopus.md")
    assert CliRunner().invoke(app, ["index", octopus, "--index", str(tmp_path / "kb")]).exit_code == 0
    described = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    described += [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)]
    servers = [server for each in described for entries in each.values() for server in entries.values()]
    assert len(servers) == 5
    (words,) = {(server["command"], *server["args"]) for server in servers if "command" in server}
    assert words == ("/opt/oreqa/.venv/bin/oreqa", "mcp", "--index", "/srv/kb")
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "OREQA_CACHE") if name in os.environ}
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "oreqa", *words[1:-1], str(tmp_path / "kb")], env=kept
    )

    async def ask(target: Any) -> Any:
        async with Client(target) as client:
            return await client.call_tool("ask", {"question": "How many hearts does an octopus have?"})

    assert asyncio.run(ask(parameters)).structured_content["answers"][0]["text"] == "three"
    with server_process("--index", tmp_path / "kb", "--port", port) as started:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            wait_until_ready(client, started)
        (url,) = {server["url"] for server in servers if "url" in server}
        assert asyncio.run(ask(url)).structured_content["answers"][0]["text"] == "three"
        (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[1]) == (0, "Octopus"), done
    assert re.match(r"three - An octopus has .*three hearts.* http://127", done.stdout)


@pytest.mark.system
def test_what_is_no_message_does_not_end_it(kb: Path, fitted_reader: Path) -> None:
    with start(kb, fitted_reader) as started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(b"not JSON\n\xff\xfe\n[]\n{}\n")
        send(started, INITIALIZE)
        replies = [json.loads(started.stdout.readline())]
        while "result" not in replies[-1]:
            replies.append(json.loads(started.stdout.readline()))
        assert replies[-1]["id"] == 1
        output, log = started.communicate(timeout=30)
        assert (started.returncode, output) == (0, b"")
        assert b"Traceback" not in log
