"""Nothing leaves the machine, and nothing is written outside the index, --out and the cache."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import oreqa

SOURCE = Path(oreqa.__file__).parent

# Runs a command in a process that records what Python asks of the system: connections, look-ups, other programs, writes.
RECORDER = """
import json, os, sys

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)  # which processes that this one forks write to, too

def note(kind, what):
    os.write(out, json.dumps([kind, what]).encode() + b"\\n")

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not isinstance(path, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            note("write", os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        for path in arguments[:2]:
            if isinstance(path, (str, bytes)):
                note("write", os.path.abspath(os.fsdecode(path)))
    elif event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.send", "urllib.", "http.")):
        note("connection", f"{event} {arguments}")
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        note("program", str(arguments[0]))
    elif event in ("os.fork", "os.forkpty"):
        note("program", event)

sys.addaudithook(watch)
from oreqa.cli import app
app(sys.argv[2:])
"""


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, Path]:
    """Folders of somebody who has never run anything here."""
    names = ("home", "temporary", "working", "config", "data", "state", "cache", "out")
    folders = {name: tmp_path / name for name in names}
    for folder in folders.values():
        folder.mkdir()
    return folders


def run(folders: dict[str, Path], *arguments: object) -> list[list[str]]:
    """What the commands have done so far, this one included; it must end well."""
    out = folders["out"].parent / "record.jsonl"
    passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    environment = {
        **passed,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folders["home"]),
        "TMPDIR": str(folders["temporary"]),
        "XDG_CONFIG_HOME": str(folders["config"]),
        "XDG_DATA_HOME": str(folders["data"]),
        "XDG_STATE_HOME": str(folders["state"]),
        "XDG_CACHE_HOME": str(folders["cache"]),
    }
    command = [sys.executable, "-c", RECORDER, str(out), *map(str, arguments)]
    done = subprocess.run(command, cwd=folders["working"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.slow
def test_commands_send_nothing_and_write_where_they_are_told(
    stranger: dict[str, Path], library: Path, squad_file: Path, tiny: Path, tiny_reader: Path, tiny_reranker: Path
) -> None:
    index, out = stranger["out"] / "kb", stranger["out"] / "run"
    model, readers = ("--model", tiny), ("--reader", tiny_reader, "--reranker", tiny_reranker)
    paragraphs = "".join(f"<p>Paragraph {n} of this page tells what happened in the year {1900 + n}.</p>" for n in range(9))
    (library / "page.html").write_text(f"<html><body><article><h1>Page</h1>{paragraphs}</article></body></html>")
    run(stranger, "index", library, "--index", index, *model)
    run(stranger, "search", "hearts", "--index", index)
    run(stranger, "ask", "How many hearts?", "--index", index, "--threshold", 0, *readers)
    record = run(stranger, "eval", "reqa", "--data", squad_file, "--out", out, *model)
    assert (out / "report.html").is_file()
    assert not [what for kind, what in record if kind == "connection"]
    # Web pages are read in a process of their own; matplotlib asks fontconfig for the machine's fonts, where there is one.
    assert {what for kind, what in record if kind == "program"} <= {sys.executable, "fc-list"}
    allowed = (stranger["out"], stranger["cache"] / "oreqa", Path("/dev/null"))
    written = {Path(what) for kind, what in record if kind == "write"}
    assert index / "lock" in written  # the recorder sees what there is to see
    assert not [path for path in written if not any(path.is_relative_to(place) for place in allowed)]
    # What native code writes goes by no hook of Python's: so the folders themselves, as well.
    for name in ("home", "temporary", "working", "config", "data", "state"):
        assert not list(stranger[name].rglob("*")), name
    assert [path.name for path in stranger["cache"].iterdir()] == ["oreqa"]
    assert sorted(path.name for path in stranger["out"].iterdir()) == ["kb", "run"]


def test_importing_openvino_imports_no_telemetry() -> None:
    code = (
        "import sys; from oreqa.models.graph.quiet_openvino import ov; "
        "assert not [m for m in sys.modules if m.startswith('openvino_telemetry')]; "
        "assert ov.convert_model"  # the stand-in serves a program that uses OpenVINO itself
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_recorder_sees_connections(tmp_path: Path) -> None:
    app = "import socket\ndef app(_):\n    if os.fork(): os.wait()\n    else: socket.getaddrinfo('localhost', 80)"
    code = RECORDER.replace("from oreqa.cli import app", app)
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "record")], check=True)
    kinds = [json.loads(line)[0] for line in (tmp_path / "record").read_text().splitlines()]
    assert kinds == ["program", "connection"]


def test_every_process_of_the_tests_is_watched(tmp_path: Path) -> None:
    """conftest.py fails the run if one of them leaves the machine."""
    noted = tmp_path / "noted"
    reach = (
        "import socket\ntry: socket.getaddrinfo('host.invalid', 80)\nexcept OSError: pass\n"
        "socket.getaddrinfo('localhost', 80)\nimport os\n"
        "if not os.fork(): __import__('openvino_telemetry'); os._exit(0)\nos.wait()"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {reach!r}], check=True)"
    environment = {**os.environ, "OREQA_CONNECTIONS": str(noted), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(dict.fromkeys(line.split()[0] for line in noted.read_text().splitlines())) == [
        "socket.getaddrinfo",
        "import",
    ]


def test_openvino_is_imported_in_one_place() -> None:
    importers = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            if any(name.partition(".")[0] == "openvino" for name in names):
                importers.add(file.relative_to(SOURCE).as_posix())
    assert importers == {"models/graph/quiet_openvino.py"}
