"""An evaluation's metrics, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oreqa.cli.output import print_json, say


def print_run(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    """A run's metrics.json, or its metrics as a table."""
    if as_json:
        print_json(summary)
        return
    from rich.table import Column, Table

    from oreqa.cli.console import Console
    from oreqa.evaluation.report import MEANING, run_title

    shown = [name for name in MEANING if name in summary]
    console, percentages = Console(), [f"{summary[name]:.2f}" for name in shown]
    if sum(len(name) + 3 for name in shown) < console.width:
        table = Table(*(Column(name, justify="right") for name in shown))
        table.add_row(*percentages)
    else:  # long names are cut in columns
        table = Table("metric", Column("percent", justify="right"))
        for row in zip(shown, percentages, strict=True):
            table.add_row(*row)
    say(run_title(summary))
    console.print(table)
    files = ["metrics.json", "per_question.jsonl", "run.trec", "report.html"]
    files += ["predictions.json"] if (out / "predictions.json").is_file() else []
    say(f"written to {out}: {', '.join(files)}")
