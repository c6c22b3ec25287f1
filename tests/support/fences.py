"""The fenced blocks of the documentation: parsed, and run one after the other in a folder."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

import httpx
from server_process import free_port, server_process, wait_until_ready
from typer.testing import CliRunner

from oreqa.cli import app

ROOT = Path(__file__).parents[2]
PORT = "8765"
"""The port of the pages, in whose place another one listens."""

_FENCE = re.compile(r"^( *)(`{3,})([^`\n]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A command of a console block, its lines joined, and the output that the page shows below it."""

    text: str
    shown: str


@dataclass(frozen=True)
class Fence:
    """A block: its page, the title of the section (##) that it stands in, its line, the language after the fence, its text."""

    page: str
    section: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[Command]:
        """The commands behind "$ ", and those that a file of CI runs."""
        if self.language == "yaml":
            return [Command(text, "") for text in re.findall(r"^ *- (?:run: )?((?:oreqa|pip) .+)$", self.text, re.MULTILINE)]
        if self.language != "console":
            return []
        _, *parts = re.split(r"^\$ ", self.text.replace("\\\n", ""), flags=re.MULTILINE)
        lines = [part.partition("\n") for part in parts]
        return [Command(" ".join(shlex_join(text)), shown.strip()) for text, _, shown in lines]

    def head(self) -> str:
        """The first line, by which a block without commands is named."""
        return self.text.strip().partition("\n")[0].strip()


def shlex_join(text: str) -> list[str]:
    """The words of a line as they are written, quotes and all, without a comment at its end."""
    words = shlex.shlex(text, posix=False, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, "#"
    return list(words)


def read_fences(page: str) -> list[Fence]:
    """The blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    titles = [(match.start(), match[1]) for match in re.finditer(r"^## (.+)$", text, re.MULTILINE)]
    fences = []
    for match in _FENCE.finditer(text):
        section = next((title for start, title in reversed(titles) if start < match.start()), "")
        block = "".join(line.removeprefix(match[1]) for line in match[4].splitlines(keepends=True))
        fences.append(Fence(page, section, text.count("\n", 0, match.start()) + 1, match[3].strip(), block))
    return fences


def promised(block: str) -> list[str]:
    """The output that a Python block's comments promise: behind a call of print, and on the lines after it."""
    lines: list[str] = []
    printing = False
    for line in block.splitlines():
        code, _, comment = line.partition("#")
        printing = "print(" in code or (printing and not code.strip())
        if printing and comment:
            lines.append(comment.strip())
    return lines


def words_of(text: str) -> list[str]:
    """The words of a text, not its numbers, signs and frames."""
    return re.findall(r"[^\W\d_]{2,}", text)


@dataclass
class Running:
    """What the blocks of a page share: the folder, the names of Python, the server that the last command started.

    ``replaced`` are texts of the page that stand for others here, as the port.
    """

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    replaced: dict[str, str] = field(default_factory=dict)
    servers: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.servers.close()

    def command(self, text: str) -> tuple[int, str]:
        """The exit code and the output of a command."""
        words = shlex.split(text)
        if words[:2] == ["oreqa", "serve"]:
            return self._serve(words[2:])
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        words = shlex.split(text)
        if words[:2] == ["oreqa", "mcp"] or "--watch" in words:
            return self._until_stopped(words[1:])
        if words[0] == "oreqa" and not {"|", ">", "&&", "&"} & set(words):
            done = CliRunner().invoke(app, words[1:], env={"COLUMNS": "120", "VISUAL": "true"})
            return done.exit_code, done.output
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        return done.returncode, done.stdout + done.stderr

    def python(self, text: str) -> str:
        """What a block prints."""
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(text, "block", "exec"), self.names)
        return printed.getvalue()

    def _serve(self, words: list[str]) -> tuple[int, str]:
        self.servers.close()
        port = str(free_port())
        self.replaced[PORT] = port
        words = [word.replace(PORT, port) for word in words]
        started = self.servers.enter_context(server_process(*words, "--port", port))
        address = f"http://127.0.0.1:{port}"
        host = words[words.index("--allow-host") + 1] if "--allow-host" in words else f"127.0.0.1:{port}"
        with httpx.Client(base_url=address, headers={"host": host}, timeout=60, trust_env=False) as client:
            wait_until_ready(client, started)
        return 0, address

    def _until_stopped(self, words: list[str]) -> tuple[int, str]:
        """Of a command that goes on until its input ends or Ctrl-C."""
        started = subprocess.Popen(
            [sys.executable, "-m", "oreqa", *words],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert started.stdout
        said, late = "", Timer(120, started.kill)
        late.start()
        for line in started.stdout:
            said += line
            if "Ctrl-C" in line:
                started.send_signal(signal.SIGINT)
        late.cancel()
        return started.wait(60), said


def every_page() -> Iterator[str]:
    """The pages whose blocks run."""
    yield "README.md"
    yield from sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))
