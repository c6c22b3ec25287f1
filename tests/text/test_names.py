"""Headings and questions that name options, settings and functions."""

from __future__ import annotations

import pytest
from growth import growth

from oreqa.text.names import LONGEST_LINE, contains_names, identifiers, is_name


def test_headings_that_are_names() -> None:
    for heading in (
        "--pids-limit=limit",
        "-v",
        "http.request(url[, options])",
        "file_size",
        "maxAge=seconds",
        "ConnectTimeout",
        "-n, --dry-run",
        "-d DIR",
        "max-old-space-size=SIZE",
    ):
        assert is_name(heading), heading
    for heading in ("OPTIONS", "SEE ALSO", "Options", "Built-in functions", "JavaScript modules", "1. Installing", "",
                    "Wi-Fi", "Check-in", "-5 degrees", "- see --help", "Use --dry-run for that", "a-b c d e f",
                    "--dry-run shows what would be deleted.", "--" + "x" * LONGEST_LINE):  # fmt: skip
        assert not is_name(heading), heading


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the default of SQLITE_MAX_COLUMN?", ["sqlitemaxcolumn"]),
        ("What do --dry-run and max_connections do?", ["dryrun", "maxconnections"]),
        ("Who found CVE-2021-3449?", ["cve20213449"]),
        ("Which company has 70B3D501B, and which 1234567 or the 1990s?", ["70b3d501b"]),
        ("Who won the well-known match of 1987 - or 1988?", []),
        ("Who was the 1000th visitor, in den 1990ern, with 250GB?", []),
        ("2024年东京奥运会在哪里举行", []),
        ("What are the symptoms of COVID-19?", []),
        ("The book --Paul wrote it", []),
        ("Is - or -- or _ or a_ or _b or x--y or --1 an option?", []),
        ("", []),
    ],
)
def test_identifiers_of_a_question(question: str, named: list[str]) -> None:
    assert identifiers(question) == named


def test_a_text_holds_names_however_they_are_joined() -> None:
    assert contains_names(["maxconnections"], "MAX CONNECTIONS is 5.")
    assert contains_names(["maxconnections"], "max-connections It is 9.")
    assert not contains_names(["maxconnections"], "max_files is 7.")
    assert not contains_names(["maxconnections", "maxfiles"], "max_files is 7.")
    assert contains_names(identifiers("cafe\u0301_size"), "Set caf\u00e9_size.")
    assert contains_names([], "Anything.")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("max_wal", "max_wal_senders is 10."),
        ("max_part_1", "max_part_10 is 3."),
        ("wal_size", "max_wal_size is 3."),
        ("CVE-2024-309", "CVE-2024-3094 affects xz."),
        ("--no-edit", "There is no editor in this image."),
        ("--edit", "Use --no-edit to skip the editor."),
        ("--dry-run", "--no-dry-run undoes it."),
    ],
)
def test_longer_names_are_others(name: str, text: str) -> None:
    assert not contains_names(identifiers(name), text)
    assert contains_names(identifiers(name), f"{text} So does {name}: it is.")


@pytest.mark.parametrize("unit", ["a", "a_", "_", "-", "a--", "ab "])
def test_texts_are_searched_in_linear_time(unit: str) -> None:
    assert growth(lambda text: contains_names(["aab"], text), lambda size: unit * (size // len(unit)), 20_000) < 10


@pytest.mark.parametrize("unit", ["a_", "--", "--a-", "A-", "AA-1", "_", "a"])
def test_questions_are_searched_in_linear_time(unit: str) -> None:
    assert growth(identifiers, lambda size: unit * (size // len(unit)), 20_000) < 10
