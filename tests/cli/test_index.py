from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from typer.testing import CliRunner

from oreqa.cli import app, index
from oreqa.index.coverage import Report
from oreqa.index.watching import Watch

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
    assert err.wait(lambda line: line.startswith("watching has ended"))


class Watched(Watch):
    """Files that change so many times until Ctrl-C."""

    def __init__(self, times: int) -> None:
        self.times = times

    def run(self, update: Callable[[], bool], stop: Event) -> None:
        assert all(update() for _ in range(self.times))
        raise KeyboardInterrupt


@pytest.mark.parametrize("as_json", [False, True])
def test_a_deleted_file_is_said_once_while_watching(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    reports = [Report(unchanged=3 - gone, gone=gone, passages=3) for gone in (1, 1, 2, 0, 1)]
    pending = iter(reports)
    index._go_on(Path("kb"), Watched(5), lambda: next(pending), as_json, 1)
    out, err = capsys.readouterr()
    assert err == "watching has ended; the index stays as it is\n"
    if as_json:
        assert [json.loads(line)["gone"] for line in out.splitlines()] == [2, 1]
    else:
        assert out.splitlines() == [
            "kb: 1 unchanged; 3 passages in all",
            "2 documents gone from these paths, or left out: --prune removes them",
            "kb: 2 unchanged; 3 passages in all",
            "1 document gone from these paths, or left out: --prune removes it",
        ]


def test_a_watch_begins_with_an_update_that_may_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["index", str(tmp_path / "none"), "--index", str(tmp_path / "kb"), "--watch"]
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "there is no such file or folder" in refused.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "watching needs the serve extra (watchfiles is not installed)" in refused.stderr) == (2, True)


def test_options_that_a_cluster_does_not_have_are_refused(library: Path, tmp_path: Path) -> None:
    arguments = ["index", str(library), "--index", str(tmp_path / "kb"), "--cluster", "local", "--strict"]
    refused = CliRunner().invoke(app, arguments)
    assert (refused.exit_code, refused.stderr) == (
        2,
        "error: --watch, --strict, --engine and --device do not go with --cluster; leave them out\n",
    )
