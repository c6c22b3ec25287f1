"""Progress: a bar on a terminal, lines where there is none, nothing for short work."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from oreqa.cli import console, progress
from oreqa.cli.progress import progress_bar
from oreqa.progress import report_kept


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_short_work_says_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("reading", 10) as advance:
        advance(5)
        clock[0] += 9
        advance(5)
    assert capsys.readouterr() == ("", "")


def test_a_line_now_and_then_where_there_is_no_terminal(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("reading", 1000) as advance:
        for _ in range(4):
            clock[0] += 20
            advance(200)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "reading: 200 of 1,000, 10/s, 80 s left\nreading: 600 of 1,000, 10/s, 40 s left\n")


def test_time_left_by_the_size_of_files(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("passages") as advance:
        advance.file(Path("a/one.txt"), 0, 1000)
        clock[0] += 40
        advance.file(Path("a/two\n.txt"), 100, 1000)
        clock[0] += 40
        advance(1600)
        clock[0] += 400
        advance(400)  # the file takes longer than all the rest was expected to
        clock[0] += 6800
        advance.file(Path("three.txt"), 500, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "passages: 0 (10% of the files), 0/s, 6 min left, two .txt",
        "passages: 1,600 (10% of the files), 20/s, 5 min left, two .txt",
        "passages: 2,000 (10% of the files), 4.2/s, two .txt",
        "passages: 2,000 (50% of the files), 0.3/s, 2.0 h left, three.txt",
    ]


def test_a_bar_on_a_terminal(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    terminal = RichConsole(file=out, force_terminal=True, width=80)
    monkeypatch.setattr(console, "Console", lambda err: terminal)
    with progress_bar("reading", 10) as advance:
        advance(1)
        assert out.getvalue() == ""
        clock[0] += 3
        advance(4)
        assert advance.figures() == "5 of 10, 1.7/s, 3 s left"
    assert "reading" in out.getvalue()


def test_what_is_printed_while_a_bar_shows_goes_to_standard_output(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = RichConsole(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(console, "Console", lambda err: terminal)
    with progress_bar("answering", 10) as advance:
        for number in range(3):
            clock[0] += 3
            advance(1)
            if number:
                advance.hide()
            print(number)
    assert capsys.readouterr() == ("0\n1\n2\n", "")


def test_what_an_earlier_run_did_makes_no_rate(clock: list[float]) -> None:
    with progress_bar("training", 100) as advance:
        clock[0] += 20
        report_kept(advance, 60)
        clock[0] += 60
        advance(4)
        assert advance.figures() == "64 of 100, 15 s each, 9 min left"


def test_time_left_by_the_size_of_files_of_which_an_earlier_run_did_some(clock: list[float]) -> None:
    with progress_bar("passages") as advance:
        clock[0] += 30
        report_kept(advance, 600)
        advance.file(Path("one.txt"), 4000, 10000)
        clock[0] += 40
        advance(200)
        advance.file(Path("two.txt"), 6000, 10000)
        assert advance.figures() == "800 (60% of the files), 5.0/s, 2 min left, two.txt"  # 1,500 bytes in 40 s


def test_nothing_to_do() -> None:
    with progress_bar("reading", 0) as advance:
        advance(0)
    with progress_bar("files") as advance:
        advance.file(Path("empty.txt"), 0, 0)
        assert advance.figures() == "0, 0/s, empty.txt"
