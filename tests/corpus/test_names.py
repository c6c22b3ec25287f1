"""Lines that name options, settings and functions."""

from __future__ import annotations

import pytest

from oreqa.corpus.names import LONGEST_LINE, is_name, names_in


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("-n, --dry-run", [("-n", 0), ("--dry-run", 4)]),
        ("-d DIR", [("-d", 0)]),
        ("ConnectTimeout", [("ConnectTimeout", 0)]),
        ("max-old-space-size=SIZE", [("max-old-space-size", 0)]),
        ("MULTIOS <D>", [("MULTIOS", 0)]),
        ("http.request(url)", [("http.request", 0)]),
        ("", []),
        ("Use --dry-run for that", []),
        ("--dry-run shows what would be deleted.", []),
        ("a-b c d e f", []),
        ("--" + "x" * LONGEST_LINE, []),
    ],
)
def test_names_in_a_line(line: str, names: list[tuple[str, int]]) -> None:
    assert names_in(line) == names


def test_headings_that_are_names() -> None:
    for heading in (
        "--pids-limit=limit",
        "-v",
        "http.request(url[, options])",
        "file_size",
        "maxAge=seconds",
        "ConnectTimeout",
    ):
        assert is_name(heading), heading
    for heading in ("OPTIONS", "SEE ALSO", "Options", "Built-in functions", "JavaScript modules", "1. Installing", "",
                    "Wi-Fi", "Check-in", "-5 degrees", "- see --help"):  # fmt: skip
        assert not is_name(heading), heading
