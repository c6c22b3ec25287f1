"""``oreqa index`` adds documents to an index, ``oreqa check`` verifies its checksums."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.hits import shown_path
from oreqa.cli.options import Option, data_option, number_option
from oreqa.cli.output import counted, need_text, print_json, say
from oreqa.cli.progress import progress_bar
from oreqa.cli.update_report import missing_line, update_summary
from oreqa.defaults import LANGUAGE, PASSAGE_TOKENS, Quality
from oreqa.errors import InputError, OreqaError
from oreqa.paths import index_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oreqa.index.coverage import Report
    from oreqa.index.watching import Watch
    from oreqa.models.encoder.encoder import Encoder


@app.command("index", cls=Command, rich_help_panel=Panel.INDEX)
def index_command(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders to read.", show_default=False, metavar="PATH")],
    index: Option.new_index,
    include: Annotated[
        list[str] | None, data_option(metavar="GLOB", help="Only files that match, patterns as in .gitignore.")
    ] = None,
    exclude: Annotated[
        list[str] | None, data_option(metavar="GLOB", help="Skip files that match, patterns as in .gitignore.")
    ] = None,
    prune: Annotated[bool, data_option("--prune", help="Remove documents that are gone from these paths.")] = False,
    strict: Annotated[bool, data_option("--strict", help="Stop at the first file that cannot be read.")] = False,
    text_field: Annotated[
        str | None, data_option(metavar="NAME", help="Field of a table's rows that holds the text.")
    ] = None,
    title_field: Annotated[str | None, data_option(metavar="NAME", help="Field that holds the title.")] = None,
    id_field: Annotated[str | None, data_option(metavar="NAME", help="Field that identifies a row.")] = None,
    model: Option.model = None,
    passage_tokens: Annotated[
        int | None,
        number_option(min=16, help="Longest passage, in tokens.", show_default=str(PASSAGE_TOKENS)),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the documents, e.g. en or de.", show_default=LANGUAGE)
    ] = None,
    truncate_dim: Annotated[
        int | None,
        number_option(
            min=1, help="Dimensions of the vectors to keep, for a model trained to be truncated.", show_default="all"
        ),
    ] = None,
    quality: Annotated[
        Quality | None,
        data_option(metavar="QUALITY", help="Reader of this index where none is chosen: fast or best.", show_default="fast"),
    ] = None,
    engine: Option.engine = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV file to write: the words of every page, those read, and why others were not."
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Keep running and update the index whenever files change (needs the serve extra)."),
    ] = False,
    cluster: Annotated[
        str | None,
        data_option(metavar="ADDRESS", help="Make a new index on a Ray cluster; local means the cores of this machine."),
    ] = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
    as_json: Option.as_json = False,
) -> None:
    """Add documents to an index, or refresh it; unchanged ones are not encoded again.

    Reads text, Markdown, web pages, PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, e-mail, Outlook messages,
    mailboxes, zip archives, JSON, notebooks, source code, and the rows of .csv, .tsv and .jsonl. Files that cannot be read
    are listed and skipped, and the exit code is 1. A folder's .oreqaignore lists files to skip.

    [bold]oreqa index .[/bold]

    [bold]oreqa index docs/ notes.pdf --index kb[/bold]

    [bold]oreqa index docs/ --index kb --watch[/bold]

    [bold]oreqa index /shared/docs --index /shared/kb --cluster ray-head:6379[/bold]
    """
    from oreqa.corpus.readers import Fields
    from oreqa.index.cluster import index_on_cluster
    from oreqa.index.coverage import need_report, read_coverage, write_coverage
    from oreqa.index.current import existing_prompts, existing_settings
    from oreqa.index.ingest import index_files
    from oreqa.index.search import Index
    from oreqa.index.store import Settings
    from oreqa.index.watching import Watch, need_watchfiles
    from oreqa.progress import part_of

    texts = {"--index": str(index), "--text-field": text_field, "--title-field": title_field, "--id-field": id_field}
    for name, text in texts.items():
        need_text(text or "", name)
    named: dict[str, Any] = {"model": model, "passage_tokens": passage_tokens, "language": language}
    named |= {"truncate_dim": truncate_dim, "quality": quality, "engine": engine}
    changes = {name: value for name, value in named.items() if value is not None}
    settings = replace(existing_settings(index) or Settings(), **changes)
    if report is not None:
        need_report(report, index)
    if watch:
        need_watchfiles()
    if cluster is not None and (watch or strict or engine is not None or device != "cpu"):
        raise InputError("--watch, --strict, --engine and --device do not go with --cluster; leave them out")

    chosen: dict[str, Any] = {"include": include or (), "exclude": exclude or ()}
    chosen["fields"] = Fields(text_field, title_field, id_field)
    is_new = cluster is not None and index_on_cluster(index, paths, cluster, settings, progress=progress_bar, **chosen)

    def update(encoder: Encoder | None = None) -> Report:
        with _saying_what_is_kept(index), progress_bar("passages") as bar:
            result = index_files(
                index,
                paths,
                settings,
                **chosen,
                prune=prune,
                strict=strict,
                device=device,
                encoder=encoder,
                progress=part_of(bar),
                on_problem=lambda line: say(f"skipped: {_with_shown_path(line)}", err=True, colour="yellow"),
                on_warning=lambda line: say(f"warning: {_with_shown_path(line)}", err=True, colour="yellow"),
                on_file=bar.file,
            )
        if report is not None:
            write_coverage(report, read_coverage(index), result.problems)
        return result

    result = update()
    if is_new:
        result.added, result.unchanged = result.added + result.unchanged, 0
    prompts = existing_prompts(index)
    if as_json:
        shown = {"prompts": {"question": prompts.question, "passage": prompts.passage}} if prompts else {}
        print_json({"index": str(index), **asdict(result), **shown}, indent=None if watch else 2)
    else:
        for line in (
            *update_summary(index, result, settings.model, bool(include), bool(exclude)),
            *([f"prompts: {prompts}"] if prompts else []),
        ):
            say(line)
        if settings.truncate_dim and result.passages and not _is_calibrated(index):
            say(f'with --truncate-dim answers are "not calibrated": oreqa fit{index_option(index)} fits their probabilities')
    if watch:
        with Index.open(index, device) as opened:
            encoder = opened.encoder  # an update without it takes half a second longer
        watching = Watch(index, paths, include or (), exclude or (), on_mode=_say_mode)
        _go_on(index, watching, lambda: update(encoder), as_json, result.gone)
    elif result.problems:
        raise typer.Exit(1)


@contextmanager
def _saying_what_is_kept(index: Path) -> Iterator[None]:
    """Make Ctrl-C say how many passages need not be encoded again."""
    from oreqa.index.journal import kept_encodings

    try:
        yield
    except KeyboardInterrupt:
        number = kept_encodings(index)
        if not number:
            raise KeyboardInterrupt("; no passages are encoded and kept yet: run the same command again") from None
        kept = f"{counted(number, 'encoded passage')} {'is' if number == 1 else 'are'} kept"
        raise KeyboardInterrupt(f"; {kept}: run the same command again to continue") from None


def _say_mode(reason: str) -> None:
    how = f"files are looked at again and again, since {reason}" if reason else "watching"
    say(f"{how}; Ctrl-C ends it", err=True)


def _go_on(index: Path, watch: Watch, update: Callable[[], Report], as_json: bool, reported: int) -> None:
    """Update an index whenever files change, until Ctrl-C; failures are reported and retried.

    ``reported`` is the number of missing documents that have been reported before.
    """

    def say_update() -> bool:
        nonlocal reported
        try:
            result = update()
        except OreqaError as error:
            say(f"error: {error}", err=True, colour="red")
            return False
        if result.added or result.changed or result.removed or result.problems or result.gone > reported:
            if as_json:
                print_json({"index": str(index), **asdict(result)}, indent=None)
            else:
                say(update_summary(index, result, "")[0])
                if result.gone > reported:
                    say(missing_line(result.gone))
        reported = result.gone
        return True

    with suppress(KeyboardInterrupt):
        watch.run(say_update, threading.Event())
    say("watching has ended; the index stays as it is", err=True)


def _with_shown_path(line: str) -> str:
    """Return a line "FILE: reason" with the shortest path to the file."""
    path, colon, reason = line.partition(": ")
    return shown_path(path) + colon + reason


def _is_calibrated(index: Path) -> bool:
    """Return whether probabilities were fitted for the encoder of an index, or for the index."""
    from oreqa.index.search import Index

    with Index.open(index) as opened:
        snapshot = opened.snapshot()
        every = (snapshot.fitted, *snapshot.index_fitted.pipelines.values())
        return any(fitted.calibration for fitted in every)


@app.command(cls=Command, rich_help_panel=Panel.INDEX)
def check(
    index: Option.index,
    as_json: Option.as_json = False,
) -> None:
    """Compare the files that searches read with their checksums, and list the damaged ones.

    The exit code is 1 if any is damaged, or if an interrupted oreqa remove has left text. Nothing is changed: the next
    oreqa index rebuilds search files.

    [bold]oreqa check --index kb[/bold]
    """
    from oreqa.index.integrity import check_index

    problems = check_index(index)
    if as_json:
        print_json({"index": str(index), "problems": problems})
    else:
        for problem in problems:
            say(problem, err=True, colour="red")
        if not problems:
            say(f"{index}: every file is as it was written")
    if problems:
        raise typer.Exit(1)
