"""``oreqa serve``: answers over HTTP."""

from __future__ import annotations

import os
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option, data_option, number_option
from oreqa.cli.output import model_or_none, need_text, say
from oreqa.errors import INSTALL_SERVE, InputError
from oreqa.paths import full_path
from oreqa.processes import limit_kernel_cache


@contextmanager
def needing_serve_extra() -> Iterator[None]:
    """Raise InputError, with the command that installs it, for an import that needs the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name == "oreqa":
            raise
        raise InputError(f"the server needs the serve extra ({name} is not installed): {INSTALL_SERVE}") from error


@app.command(cls=Command, rich_help_panel=Panel.ASK)
def serve(
    index: Option.collections,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", envvar="OREQA_HOST", help="Address to listen at; beyond this machine with a token."),
    ] = "127.0.0.1",
    port: Annotated[int, number_option(max=65535, envvar="OREQA_PORT", help="Port to listen at.")] = 8765,
    socket: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Unix socket to listen at instead of an address.", show_default="none"),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the token that clients send.", show_default="$OREQA_TOKEN, or none"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", envvar="OREQA_ALLOW_HOST", help="A host that people reach the server by."),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Questions a minute that one client may ask; 0 is any number.",
            show_default="60 if others reach the server, else 0",
        ),
    ] = None,
    threshold: Option.lowest_confidence = None,
    at_least: Option.promised_share = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    span_reranker: Option.span_reranker = None,
    link: Option.links = None,
    watch: Annotated[
        list[str] | None,
        data_option("--watch", metavar="[NAME=]PATH", help="Update the index whenever files there change; repeatable."),
    ] = None,
    uploads: Annotated[
        Path | None,
        data_option(metavar="DIR", help="Folder to keep the files that clients send; watch it to index them."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Take nothing from clients but questions.")] = False,
    log_questions: Annotated[bool, typer.Option("--log-questions", help="Write questions into the log.")] = False,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    device: Option.device = "cpu",
    precision: Option.precision = None,
) -> None:
    """Answer questions over HTTP, on this machine or for others: on a page, and for programs.

    The API is described at /openapi.json. Assistants connect to /mcp. Updates of an index need no restart.

    [bold]oreqa serve --index kb --open[/bold]

    [bold]oreqa serve --index kb --watch docs[/bold]

    [bold]oreqa serve --index manuals=kb1 --index notes=kb2 --port 8000[/bold]
    """
    from oreqa.index.watching import need_watchfiles

    with needing_serve_extra():
        from oreqa.server.app import create_app
        from oreqa.server.collections import close_collections, open_collections
        from oreqa.server.following import Follower, watched_paths
        from oreqa.server.links import published_folders
        from oreqa.server.listening import listen, listen_on_file, run_server
        from oreqa.server.settings import access, collection_folders, read_token
        from oreqa.server.uploads import need_uploads_folder

    if open_page and socket is not None:
        raise InputError("--open: browsers cannot reach a Unix socket; leave --socket out")
    folders = collection_folders([need_text(text, "--index") for text in index])
    sites = published_folders([need_text(text, "--link") for text in link or ()])
    watched = watched_paths([need_text(text, "--watch") for text in watch or ()], folders)
    if watched:
        need_watchfiles()
    followers = {name: Follower(folders[name], paths) for name, paths in watched.items()}
    kept = None if uploads is None else need_uploads_folder(uploads)
    who = access(
        host,
        port,
        socket=socket is not None,
        token=read_token(token_file, os.environ.get("OREQA_TOKEN")),
        allow_host=allow_host or (),
        rate=rate,
        read_only=read_only,
    )
    listener = listen(host, port) if socket is None else listen_on_file(socket)
    with listener:
        limit_kernel_cache()
        collections = open_collections(
            folders,
            device,
            quality=quality,
            reader=model_or_none(reader),
            span_reranker=span_reranker,
            threshold=threshold,
            at_least=at_least,
        )
        shown = f"[{host}]" if ":" in host else host
        place = str(socket) if socket else f"http://{shown}:{port}"
        say(f"oreqa answers at {place}; Ctrl-C ends it", err=True)
        if kept and not any(kept.is_relative_to(full_path(path)) for paths in watched.values() for path in paths):
            say(f"nothing watches {uploads}: oreqa index adds the files that clients send", err=True)
        if open_page:  # the port is open: the browser's request waits until the server accepts it
            page = place if f"{shown}:{port}" in who.hosts else f"http://{min(who.hosts)}"
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        try:
            application = create_app(
                collections, who, sites=sites, followers=followers, uploads=kept, log_questions=log_questions
            )
            run_server(application, listener)
        finally:
            close_collections(collections)
