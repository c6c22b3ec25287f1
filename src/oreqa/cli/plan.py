"""``oreqa plan``: estimates what an index of any size will take."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option, data_option
from oreqa.cli.output import print_json, say
from oreqa.cli.progress import duration
from oreqa.errors import InputError
from oreqa.visible import counted

if TYPE_CHECKING:
    from oreqa.index.capacity import Plan


def _count(text: str) -> int:
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        number = math.nan
    if not 1 <= number <= 1e12:
        raise InputError(f"--passages {text!r}: write a number from 1 to 1e12, as 200000 or 21e6")
    return round(number)


@app.command(cls=Command, rich_help_panel=Panel.INDEX)
def plan(
    passages: Annotated[
        str | None,
        data_option(metavar="N", help="Passages of the index, as 200000 or 21e6.", show_default="those of --index"),
    ] = None,
    machine: Annotated[
        str | None,
        data_option(metavar="SIZE", help="Cores and GB of memory, as 16c64g.", show_default="this machine"),
    ] = None,
    index: Annotated[
        Path | None, data_option(metavar="DIR", help="An index of such documents, to take the bytes of a passage from.")
    ] = None,
    as_json: Option.as_json = False,
) -> None:
    """Estimate what an index will take: disk, memory, time, money and machines.

    The estimate uses costs measured on small indexes with the default model, without a GPU. A page of a book is about three
    passages. From an index of 500 or more passages, its own sizes are used. Prices are assumed.

    [bold]oreqa plan --passages 21e6 --machine 16c64g[/bold]

    [bold]oreqa plan --passages 1e6 --index kb[/bold]
    """
    from oreqa.index import capacity

    if passages is None and index is None:
        raise InputError("say of how many passages: --passages 1e6, or --index for as many as an index has")
    passage_count, costs = capacity.costs_of(index) if index else (0, capacity.MEASURED)
    chosen = capacity.parse_machine(machine) if machine is not None else capacity.this_machine()
    result = capacity.plan(_count(passages) if passages is not None else passage_count, chosen, costs)
    if as_json:
        print_json(asdict(result))
        return
    for line in _lines(result):
        say(line)
    if index and costs is capacity.MEASURED:
        note = "as measured on paragraphs, for what a passage of these documents takes tell no fewer than"
        say(f"{note} {capacity.FEWEST_TO_TELL:,}; {index} has {passage_count:,}")


def _size(number: float) -> str:
    """Format bytes, e.g. ``3.8 GB``."""
    unit, name = next((pair for pair in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")) if number >= pair[0]), (1e3, "kB"))
    return f"{number / unit:,.{0 if number >= 100 * unit else 1}f} {name}"


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return duration(seconds) if seconds < 48 * 3600 else f"{seconds / 86400:,.1f} days"


def _money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars < 10 else f"${dollars:,.0f}"


def _lines(result: Plan) -> list[str]:
    from oreqa.index.capacity import CORE_HOUR

    costs, count = result.costs, result.passages
    parts = {"texts": costs.documents, "vectors": costs.vectors, "words": costs.words}
    disk_parts = ", ".join(f"{name} {_size(count * each)}" for name, each in parts.items())
    enough = "it fits" if result.machines == 1 else "it does not fit, and searches wait for the disk"
    rows = (
        ("disk", f"{_size(result.disk)}: {disk_parts}"),
        ("", f"{_size(result.room)} where an update writes the texts anew, beside the state before"),
        ("memory", f"{_size(result.memory)}, and {_size(result.warm)} for what each search reads of the disk; {enough}"),
        ("encoding", f"{result.encode / 3600:,.1f} core hours, {_time(result.build)} here with reading and writing"),
        ("", f"on 10 such machines {_time(result.build / 10)}, then oreqa merge"),
        ("a search", f"{_time(result.search)} on one core"),
        ("an update", f"{_time(result.update)} to publish one document"),
        ("machines", f"{result.machines:,} by their memory"),
        ("cost", f"{_money(result.build_dollars)} to build, {_money(result.month_dollars)} a month to serve, "
                 f"at ${CORE_HOUR} a core and hour"),
    )  # fmt: skip
    measured = (
        f"a passage: {costs.characters:,.0f} characters, {costs.sentences:.1f} sentences, {costs.disk:,.0f} bytes; "
        f"{1 / costs.encode:,.0f} are encoded in a second of a core; updates beyond 64,000 passages are extrapolated"
    )
    return [
        f"{counted(count, 'passage')} on a machine of {result.machine}",
        *(f"  {name:<10} {text}" for name, text in rows),
        measured,
    ]
