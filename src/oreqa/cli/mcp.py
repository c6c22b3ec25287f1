"""``oreqa mcp``: serves the tools of assistants over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import model_or_none, need_text, say
from oreqa.cli.serve import needing_serve_extra
from oreqa.processes import limit_kernel_cache


@app.command(cls=Command, rich_help_panel=Panel.ASK)
def mcp(
    index: Option.collections,
    base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Address of an oreqa serve, to which results link.", show_default="link to files"),
    ] = None,
    threshold: Option.lowest_confidence = None,
    at_least: Option.promised_share = None,
    quality: Option.quality = None,
    reader: Option.answering_reader = "auto",
    span_reranker: Option.span_reranker = None,
    link: Option.links = None,
    device: Option.device = "cpu",
    precision: Option.precision = None,
) -> None:
    """Give an assistant your documents: search, fetch and ask, over the Model Context Protocol.

    The assistant starts this command, and talks to it over standard input and output. oreqa serve does the same at /mcp.

    [bold]oreqa mcp --index kb[/bold]
    """
    with _ended_by_signals():
        with needing_serve_extra():
            from oreqa.server.collections import close_collections, open_collections
            from oreqa.server.links import base_address, published_folders
            from oreqa.server.mcp_server import run_on_stdio
            from oreqa.server.settings import collection_folders

        folders = collection_folders([need_text(text, "--index") for text in index])
        sites = published_folders([need_text(text, "--link") for text in link or ()])
        base = "" if base_url is None else base_address(need_text(base_url, "--base-url"))
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
        if sys.stdin.isatty():
            say("oreqa waits for an assistant, which starts this command itself; Ctrl-C ends it", err=True)
        try:
            run_on_stdio(collections, base_url=base, sites=sites)
        finally:
            close_collections(collections)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the process at once.

    Nothing must be saved, and the thread that waits for input could not be woken.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: os._exit(0)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
