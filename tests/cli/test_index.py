from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from oreqa.cli import app

PATIENCE = 120.0


class Lines:
    """The lines of a stream, read in a thread."""

    def __init__(self, stream: Iterator[str]) -> None:
        self.read: list[str] = []
        Thread(target=lambda: self.read.extend(stream), daemon=True).start()

    def wait(self, is_so: Callable[[str], bool]) -> str:
        deadline = time.monotonic() + PATIENCE
        while not any(map(is_so, self.read)):
            assert time.monotonic() < deadline, self.read
            time.sleep(0.05)
        return next(filter(is_so, self.read))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no SIGINT to send")
def test_a_watched_folder_is_followed_until_ctrl_c(tmp_path: Path, library: Path, fitted: Path) -> None:
    pytest.importorskip("watchfiles", reason="the serve extra is not installed")
    command = [
        sys.executable,
        "-m",
        "oreqa",
        "index",
        library,
        "--index",
        tmp_path / "kb",
        "--model",
        fitted,
        "--watch",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        out, err = Lines(process.stdout), Lines(process.stderr)
        err.wait(lambda line: line == "watching; Ctrl-C ends it\n")
        (library / "whales.txt").write_text("Whales sing.")
        (library / "damaged.pdf").write_text("no PDF")
        last = json.loads(out.wait(lambda line: '"added": 1' in line))
        assert last["problems"][0].startswith(str(library / "damaged.pdf"))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert [json.loads(line)["added"] for line in out.read] == [4, 1]  # a document a line


def test_a_watch_begins_with_an_update_that_may_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["index", str(tmp_path / "none"), "--index", str(tmp_path / "kb"), "--watch"]
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "there is no such file or folder" in refused.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "watching needs the serve extra (watchfiles is not installed)" in refused.stderr) == (2, True)
