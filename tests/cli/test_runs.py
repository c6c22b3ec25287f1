from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from commands import COMMANDS
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.cli.options import number_option
from oreqa.cli.progress import progress_bar
from oreqa.cli.runs import runs
from oreqa.progress import Progress, no_progress


def help_page(*names: str, columns: int) -> str:
    return CliRunner().invoke(app, [*names, "--help"], env={"COLUMNS": str(columns)}).stdout


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_a_help_page_has_an_example_and_fits_the_terminal(names: tuple[str, ...]) -> None:
    wide = help_page(*names, columns=200)
    assert f"oreqa {' '.join(names)} " in wide.partition("─")[0].partition("\n\n")[2]
    flags = {word for line in wide.splitlines() if line.startswith("│ -") for word in line.split() if word.startswith("--")}
    assert "--help" in flags
    for columns in (50, 80):
        page = help_page(*names, columns=columns).partition("Keys of the recipe")[0]
        assert flags <= set(page.split())
        assert "…" not in page
        assert max(map(len, page.splitlines())) <= columns


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_no_command_takes_an_empty_argument(names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = typer.main.get_command(app)
    for name in names:
        command = command.commands[name]  # type: ignore[attr-defined]
    parameters = command.get_params(command.make_context("oreqa", [], resilient_parsing=True))
    cases = []
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            before = ["x"] * sum(name.startswith("the ") for name, _ in cases)
            cases.append((f"the {(parameter.metavar or parameter.name).lower()}", [*before, ""]))
        elif not getattr(parameter, "is_flag", False):
            flag = parameter.opts[0]
            cases.append((flag, [flag, ""]))
            cases += [(flag, [f"{flag}="])] if flag.startswith("--") else []
    for name, arguments in cases:
        result = CliRunner().invoke(app, [*names, *arguments])
        assert (result.exit_code, result.stderr) == (2, f"error: {name} is empty\n")
    assert not list(tmp_path.iterdir())


def test_help_pages_put_many_options_in_panels() -> None:
    assert [title for title in ("Data", "Models", "Options") if f"─ {title} ─" in help_page("generate", columns=80)] == [
        "Data",
        "Models",
        "Options",
    ]
    assert "─ Data ─" not in help_page("eval", "answers", columns=80)
    page = help_page(columns=80)
    places = [page.index(f"─ {title} ─") for title in ("Ask", "Index", "Data", "Models", "Run", "Options")]
    assert places == sorted(places)


def test_a_command_runs_a_function_with_its_arguments() -> None:
    calls: list[dict[str, Any]] = []

    def library(
        data: str | Path,
        *,
        seed: int = 7,
        draw: int | None = None,
        device: str = "cpu",
        hook: int = 1,
        progress: Progress = no_progress,
    ) -> str:
        """A function of the library."""
        calls.append(locals())
        return "result"

    group = typer.Typer()
    group.callback()(lambda: None)

    @runs(group, lambda: library, hook=None, draw=Annotated[int, number_option("--how-many", help="A number.")])
    def work(result: str, data: Path, draw: int | None, as_json: bool) -> None:
        """Works."""
        print(result, data, draw, as_json)

    first = CliRunner().invoke(group, ["work", "--data", "x", "--json"])
    assert first.stdout == "result x None True\n"
    assert (
        CliRunner().invoke(group, ["work", "--data", "x", "--how-many", "3", "--seed", "1"]).stdout == "result x 3 False\n"
    )
    assert [(call["data"], call["seed"], call["draw"], call["hook"]) for call in calls] == [
        (Path("x"), 7, None, 1),
        (Path("x"), 1, 3, 1),
    ]
    assert all(call["progress"] is progress_bar for call in calls)
    assert CliRunner().invoke(group, ["work"]).exit_code == 2
    page = CliRunner().invoke(group, ["work", "--help"]).stdout
    assert "Works." in page
    assert "[default: 7]" in page
    assert "hook" not in page
