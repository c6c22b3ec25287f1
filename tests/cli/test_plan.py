from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_plan_is_printed_with_the_costs_it_was_made_by() -> None:
    result = run("plan", "--passages", "21e6", "--machine", "16c64g")
    assert result.exit_code == 0
    first, *rows, last = result.stdout.splitlines()
    assert first == "21,000,000 passages on a machine of 16 cores and 64 GB"
    assert [row[2:12].strip() for row in rows if row[2:12].strip()] == [
        "disk", "memory", "encoding", "a search", "an update", "machines", "cost",
    ]  # fmt: skip
    assert last.endswith("; updates beyond 64,000 passages are extrapolated")
    row = json.loads(run("plan", "--passages", "21e6", "--machine", "16c64g", "--json").stdout)
    assert row["passages"] == 21_000_000
    assert f"{row['disk'] / 1e9:,.0f} GB" in rows[0]
    assert row["machine"] == {"cores": 16, "memory": 64e9}
    assert run("plan", "--passages", "1,000").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "say of how many passages: --passages 1e6, or --index for as many as an index has"),
        (("--passages", "many"), "--passages 'many': write a number from 1 to 1e12, as 200000 or 21e6"),
        (("--passages", "-5"), "--passages '-5': write a number from 1 to 1e12, as 200000 or 21e6"),
        (("--passages", "nan"), "--passages 'nan': write a number"),
        (("--passages", "5", "--machine", "big"), "'big' is no machine"),
        (("--index", "nowhere"), "nowhere: there is no index here"),
    ],
)
def test_what_cannot_be_planned_is_a_line(arguments: tuple[str, ...], line: str) -> None:
    refused = run("plan", *arguments)
    assert refused.exit_code == 2
    assert line in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_a_small_index_is_planned_by_the_measured_costs_and_says_so(tmp_path: Path, tiny: Path) -> None:
    index_documents(tmp_path / "kb", "One text.", Settings(str(tiny)))
    result = run("plan", "--index", tmp_path / "kb", "--machine", "16c64g")
    assert (result.exit_code, result.stderr) == (0, "")
    *lines, last = result.stdout.splitlines()
    assert lines == run("plan", "--passages", "1", "--machine", "16c64g").stdout.splitlines()
    assert last.startswith("as measured on paragraphs")
    assert last.endswith("kb has 1")
