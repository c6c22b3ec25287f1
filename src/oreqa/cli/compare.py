"""``oreqa compare``: compares runs with a baseline, the first of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import counted, one_line, print_json, say, visible

_SHOWN = ("mrr", "mrr@100", "ndcg@10", "p@1", "p@5", "r@1", "r@5", "em", "f1", "right", "refused")
"""The metrics shown for runs that have any of them; for others, all are shown."""

_QUESTION = 200
"""Characters of a question that are shown."""


@app.command(cls=Command, rich_help_panel=Panel.RUN)
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folders that `oreqa eval` wrote; the first is the baseline.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for comparison.json and report.html, with the Venn diagram of the errors."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of the resampling.")] = 0,
    as_json: Option.as_json = False,
) -> None:
    """Compare runs on the same questions: paired significance, overlap of errors, questions won and lost.

    [bold]oreqa compare runs/sparse runs/hybrid --out runs/difference[/bold]
    """
    from oreqa.errors import InputError
    from oreqa.evaluation.compare import FEW, FEW_QUESTIONS, compare_runs, write_comparison
    from oreqa.evaluation.frame import run_folder
    from oreqa.evaluation.runs import load_run

    if len(runs) < 2:
        raise InputError("name at least two runs: oreqa compare BASELINE OTHER")
    if out is not None:
        run_folder(out)
    loaded = [load_run(folder) for folder in runs]
    comparisons = [compare_runs(loaded[0], other, seed) for other in loaded[1:]]
    if out is not None:
        write_comparison(out, comparisons)
    if as_json:
        print_json([asdict(comparison) for comparison in comparisons])
        return
    from rich.table import Table

    from oreqa.cli.console import Console

    console = Console()
    first = loaded[0]
    a, *others = _short_names(runs)
    for b, other, c in zip(others, loaded[1:], comparisons, strict=True):
        most_questions = max(len(run.questions) for run in (first, other))
        shared_note = "" if most_questions == c.questions else f" that both asked, of {most_questions:,}"
        table = Table(title=f"{b} against {a}: {counted(c.questions, 'question')}{shared_note}", title_justify="left")
        for name in ("metric", a, b, "difference", "95% interval", "p"):
            # The names of runs often differ only at their ends: they are folded, never cut off.
            table.add_column(
                name, justify="left" if name == "metric" else "right", overflow="fold", no_wrap=name == "95% interval"
            )
        for name in [name for name in _SHOWN if name in c.differences] or c.differences:
            d = c.differences[name]
            table.add_row(
                name,
                *(f"{mean:.2f}" for mean in c.means[name]),
                f"{100 * d.mean:+.2f}",
                f"{100 * d.low:+.2f} .. {100 * d.high:+.2f}",
                f"{d.p:.4f}",
                style="bold" if d.p < 0.05 else "",
            )
        console.print(table)
        if c.questions < FEW:
            say(FEW_QUESTIONS, err=True)
        who = {"both": "both wrong", "only_a": f"{a} alone wrong", "only_b": f"{b} alone wrong", "neither": "both right"}
        if c.errors:
            shares = (f"{text} {c.errors[key]:,} ({c.error_shares[key]:.1f}%)" for key, text in who.items())
            console.print(f"first answers: {', '.join(shares)}")
        for title, rows in (("won", c.won), ("lost", c.lost)):
            for row in rows[:5]:
                console.print(
                    f"  {title}: {one_line(row['question'] or row['id'], _QUESTION)}",
                    style="green" if title == "won" else "red",
                )
    if out is not None:
        say(f"written to {out}: comparison.json, report.html")


def _short_names(folders: Sequence[Path]) -> list[str]:
    """Return the folders without their common path, which would only wrap in a table's header."""
    paths = [folder.absolute() for folder in folders]
    common = os.path.commonpath([path.parent for path in paths])
    return [visible(str(path.relative_to(common))) for path in paths]
