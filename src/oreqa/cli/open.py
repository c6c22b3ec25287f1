"""``oreqa open``: opens the source of an answer, or a document, in an editor or the system's program."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Annotated

import typer

from oreqa.cli.application import Command, Panel, app
from oreqa.cli.options import Option
from oreqa.cli.output import need_text, print_json, say
from oreqa.cli.sources import Source, remembered_source, source_at
from oreqa.errors import InputError, OreqaError
from oreqa.paths import need_index

_LOCATION = re.compile(r"(?::(?P<line>\d+)|, page (?P<page>\d+)|(?P<anchor>#\S+))$")
_AT_PLUS = {
    "vi",
    "vim",
    "nvim",
    "gvim",
    "view",
    "nano",
    "pico",
    "emacs",
    "emacsclient",
    "micro",
    "kak",
    "joe",
    "gedit",
    "kate",
}
_AT_G = {"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"}
_AT_COLON = {"subl", "hx", "helix", "zed"}
"""Editors by the way they take a line: ``+12 FILE``, ``-g FILE:12`` and ``FILE:12``."""


@app.command("open", cls=Command, rich_help_panel=Panel.ASK)
def open_source(
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT", help="The number of an answer of the last oreqa ask; or a document, as ask prints places."
        ),
    ] = "1",
    index: Option.optional_index = None,
    print_place: Annotated[
        bool, typer.Option("--print", help="Print the path or the address instead of opening it.")
    ] = False,
    as_json: Option.as_json = False,
) -> None:
    """Open the source of the last answer, of another one by its number, or a document.

    A text opens at its line in $VISUAL or $EDITOR; everything else, or if no editor is set, in the system's program, a PDF
    at its page and a web page at its anchor. With --json the place is printed, and nothing is opened.

    [bold]oreqa open[/bold]

    [bold]oreqa open 2[/bold]

    [bold]oreqa open guide.md:12 --index kb[/bold]
    """
    is_number = document.isascii() and document.isdecimal()
    source = remembered_source(int(document)) if is_number else _named_source(document, index)
    file = _need_file(source)
    if as_json:
        place = {"document": source.document, "file": str(file), "line": source.line, "page": source.page}
        print_json({**place, "url": source.url})
    elif print_place:
        say(source.url if source.needs_url else f"{file}{'' if source.line is None else f':{source.line}'}")
    else:
        open_place(source)


def open_place(source: Source) -> None:
    """Open a place as ``oreqa open`` does. Raises InputError if there is nothing to open, or nothing to open it with."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    _run(opening_command(source, _need_file(source), editor, sys.platform))


def _named_source(name: str, index: Path | None) -> Source:
    """Return the place named as ``oreqa ask`` prints it: a document, followed by a line or page."""
    from oreqa.index.documents import read_document

    passages = read_document(index or need_index(), need_text(name, "the document"))
    if not passages:
        raise InputError(f"{name}: the document has no text to open")
    source = replace(source_at(passages[0], passages[0].start), anchor="")
    location = None if source.document.endswith(name) else _LOCATION.search(name)
    if location is None:
        return source
    line, page, anchor = location["line"], location["page"], location["anchor"]
    if anchor:
        return replace(source, anchor=anchor)
    return replace(source, line=int(line)) if line else replace(source, page=int(page))


def _need_file(source: Source) -> Path:
    """Return a document's file. Raises InputError if it has none, or if the file is gone."""
    name = source.document
    file = source.file
    if file is None and "#" in name and Path(name).is_absolute():
        raise InputError(f"{name}: it lies inside a file; unpack that, or read it with: oreqa show {shlex.quote(name)}")
    if file is None:
        raise InputError(f"{name}: it comes from no file; read it with: oreqa show {shlex.quote(name)}")
    if not file.exists():
        raise InputError(f"{file}: the file is gone; the index still has its text: oreqa show {shlex.quote(name)}")
    return file


def opening_command(source: Source, file: Path, editor: str, platform: str) -> list[str]:
    """Return the command that opens a place, to be run without a shell. The path is absolute: no name looks like an option.

    Raises InputError for an editor with an unclosed quote.

    Examples:
        >>> opening_command(Source("/docs/guide.md", line=12), Path("/docs/guide.md"), "code --wait", "linux")
        ['code', '--wait', '-g', '/docs/guide.md:12']
    """
    if source.line is None:
        target = source.url if source.needs_url else str(file)
        return [{"darwin": "open", "win32": "start"}.get(platform, "xdg-open"), target]
    if not editor.strip():  # macOS and Windows would run a script
        return [*{"darwin": ["open", "-t"], "win32": ["notepad"]}.get(platform, ["xdg-open"]), str(file)]
    try:
        words = shlex.split(editor, posix=platform != "win32")
    except ValueError:
        raise InputError(f"the editor {editor!r}: a quote is not closed; set VISUAL or EDITOR anew") from None
    if platform == "win32":
        words = [word.strip('"') for word in words]
    name = PureWindowsPath(words[0]).stem.lower()
    if name in _AT_G:
        return [*words, "-g", f"{file}:{source.line}"]
    if name in _AT_COLON:
        return [*words, f"{file}:{source.line}"]
    return [*words, *([f"+{source.line}"] if name in _AT_PLUS else []), str(file)]


def _run(command: list[str]) -> None:
    """Run a command to its end. Raises InputError if the program is missing, OreqaError if it fails."""
    program, target = command[0], command[-1]
    if program == "start" and sys.platform == "win32":
        os.startfile(target)
        return
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        ways = "set EDITOR, or see the path with --print"
        raise InputError(f"{program}: it cannot be started ({error.strerror}); {ways}") from None
    if code:
        raise OreqaError(f"{program} ended with status {code}; the source is: {target}")
