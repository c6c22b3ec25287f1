"""The steps of the Containerfile, in a fresh virtual environment: engines for containers are rarely where tests run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cut_off import can_cut_off, cut_off
from typer.testing import CliRunner

from oreqa.cli import app

pytest.importorskip("fastapi", reason="the serve extra is not installed")
from server_process import free_port

ROOT = Path(__file__).parents[1]
USER = 1000

# Starts the server, asks it, and ends it, all in one network.
ASK = """
import json, os, signal, subprocess, sys, time
from urllib.request import Request, urlopen

address, words = sys.argv[1], sys.argv[2:]
server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OREQA_TOKEN']}"}
for _ in range(600):
    try:
        urlopen(f"{address}/readyz")
        break
    except OSError:
        assert server.poll() is None, server.communicate()
        time.sleep(0.1)
body = json.dumps({"question": "How many hearts does an octopus have?"}).encode()
reply = json.load(urlopen(Request(f"{address}/v1/ask", body, headers)))
page = urlopen(f"{address}/").read().decode()
script = urlopen(f"{address}/web/main.js").read().decode()
server.send_signal(signal.SIGTERM)
_, log = server.communicate()
print(json.dumps([os.getuid(), reply["answers"][0]["text"], "<title>" in page, "import" in script, server.returncode, log]))
"""


def steps() -> list[tuple[str, str]]:
    lines = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line and not line.startswith("#")]  # type: ignore[misc]


def test_the_steps_are_those_that_the_test_of_them_carries_out() -> None:
    kinds = [kind for kind, _ in steps()]
    assert kinds == ["FROM", "WORKDIR", *["COPY"] * 3, "RUN", "USER", "ENV", "EXPOSE", "ENTRYPOINT", "CMD"]
    text = dict(steps())
    assert re.fullmatch(r"docker\.io/library/python:3\.1[1-4]-slim", text["FROM"])
    assert text["USER"] == "1000:1000"
    assert text["RUN"].count("pip install") == text["RUN"].count("--no-cache-dir") == 1
    for step, words in steps():
        if step == "COPY":
            assert all((ROOT / name).exists() for name in words.split()[:-1]), words


@pytest.fixture(scope="module")
def image() -> Iterator[dict[str, Any]]:
    """What the steps make: the folder with the commands, the variables, and the words of the server's command."""
    with tempfile.TemporaryDirectory(prefix="oreqa-image-") as folder:
        Path(folder).chmod(0o755)  # others may read an image, but nothing in pytest's folders
        yield made_image(Path(folder))


def python() -> str:
    """A Python that all users can run, if there is one that is new enough."""
    code = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    system = shutil.which("python3", path="/usr/local/bin:/usr/bin")
    done = subprocess.run([system or "false", "-c", code], capture_output=True, check=False)
    return sys.executable if done.returncode or system is None else system


def made_image(home: Path) -> dict[str, Any]:
    made: dict[str, Any] = {"bin": home / "venv" / "bin", "environment": {}, "words": []}
    subprocess.run([python(), "-m", "venv", home / "venv"], check=True)
    for step, words in steps():
        if step == "WORKDIR":
            (work := home / words.strip("/")).mkdir()
        elif step == "COPY":
            *sources, target = words.split()
            for source in sources:
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, work / (target if target != "./" else source))
        elif step == "RUN":
            path = f"{made['bin']}{os.pathsep}{os.environ['PATH']}"
            kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
            done = subprocess.run(
                ["sh", "-c", words.replace(" --no-cache-dir", "")],
                cwd=work, env={**kept, "PATH": path}, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        elif step == "ENV":
            made["environment"] |= dict(pair.split("=", 1) for pair in shlex.split(words))
        elif step in ("ENTRYPOINT", "CMD"):
            made["words"] += json.loads(words)
    assert (
        CliRunner().invoke(app, ["index", str(ROOT / "demo/library/octopus.md"), "--index", str(home / "kb")]).exit_code == 0
    )
    (home / "cache").mkdir()
    (home / "cache").chmod(0o777)
    return made


def ask(image: dict[str, Any], before: list[str], **how: Any) -> int:
    """Ask the server of the image, started behind the words ``before``; the user that it runs as."""
    home, port = image["bin"].parents[1], free_port()
    words = [str(home / "kb") if word == "/kb" else word for word in image["words"]]
    environment = {
        **image["environment"],
        "OREQA_CACHE": str(home / "cache"),
        "OREQA_PORT": str(port),
        "OREQA_TOKEN": "a-token-of-some-length",
        "OREQA_ALLOW_HOST": f"127.0.0.1:{port}",
        "PATH": f"{image['bin']}:/usr/bin:/bin",
    }
    command = [*before, str(image["bin"] / "python"), "-c", ASK, f"http://127.0.0.1:{port}", *words]
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, **how)
    assert done.returncode == 0, done.stderr
    user, answer, has_page, has_script, code, log = json.loads(done.stdout)
    assert (answer, has_page, has_script, code) == ("three", True, True, 0)
    assert "Traceback" not in log
    return int(user)


@pytest.mark.system
@pytest.mark.skipif(not can_cut_off(), reason="this machine gives its users no networks of their own")
def test_the_server_of_the_image_needs_no_network(image: dict[str, Any], tmp_path: Path) -> None:
    ask(image, cut_off(tmp_path / "sent"))
    assert (tmp_path / "sent").read_text() == "0\n"  # packets that tried to leave


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can be another user")
def test_the_server_of_the_image_runs_as_another_user(image: dict[str, Any]) -> None:
    user = {"user": USER, "group": USER, "extra_groups": ()}
    try:
        subprocess.run([image["bin"] / "python", "-c", ""], check=True, **user)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run this Python")
    assert ask(image, [], **user) == USER
