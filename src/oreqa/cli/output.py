"""What the commands share in talking to people and to programs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from oreqa.errors import InputError

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document, for programs.")]
DeviceOption = Annotated[str, typer.Option(help="Where the model runs: cpu (OpenVINO) or cuda (torch).")]
ReaderOption = Annotated[str, typer.Option(help="Reader: a name (`oreqa models` lists them) or a folder.")]
RerankerOption = Annotated[str, typer.Option(help="Span re-ranker: a name, a folder, or none.")]
RerankOption = Annotated[
    int, typer.Option("--rerank", min=0, max=1000, help="Let the classifier re-rank so many of the search's best.")
]
ClassifierOption = Annotated[str, typer.Option(help="Classifier: a name or a folder.")]


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def parse_conditions(where: Sequence[str]) -> list[tuple[str, str]]:
    """``field=value`` options as pairs. Raises InputError for one without an equals sign."""
    pairs = []
    for condition in where:
        name, sign, value = condition.partition("=")
        if not sign or not name:
            raise InputError(f"--where {condition!r}: write it as field=value, as in --where language=en")
        pairs.append((name, value))
    return pairs


def read_lines(path: Path) -> list[str]:
    """The lines of a text file that are not empty. Raises InputError if it cannot be read, or has none."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: it cannot be read ({error})") from error
    if not lines:
        raise InputError(f"{path}: it has no line with a question")
    return lines


def one_line(text: str, most: int | None = None) -> str:
    """A text without line breaks, cut after ``most`` characters."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else line[: most - 1] + "…"


@contextmanager
def progress_bar(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that appears when the work takes over two seconds; call what it gives with steps done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(what, total=total, rate="")
    begun = time.monotonic()
    done = 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        spent = time.monotonic() - begun
        if spent > 2 and console.is_terminal:
            bar.start()
        bar.update(task, completed=done, rate=f"{done / max(spent, 1e-9):,.0f}/s")

    try:
        yield advance
    finally:
        if bar.live.is_started:  # stopping one that never showed prints an empty line
            bar.stop()
