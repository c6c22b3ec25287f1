"""Pictures of a terminal: commands and their output, as SVG."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

# Black, red, green, yellow, blue, magenta, cyan, white: bright enough that dimmed text stays legible.
COLOURS = [
    (40, 44, 52),
    (224, 108, 117),
    (126, 200, 120),
    (229, 192, 90),
    (97, 175, 239),
    (198, 120, 221),
    (86, 200, 210),
    (235, 237, 240),
]
THEME = TerminalTheme((24, 28, 36), (245, 247, 250), COLOURS)
FONT_FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)
LINK = re.compile(r"\x1b\]8;[^\x1b]*\x1b\\")


def printed(command: str, folder: Path, columns: int) -> str:
    """Return what the command prints to a terminal, in colour and without links, which a picture cannot follow."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(columns)}
    command = command.replace("oreqa", f"{sys.executable} -m oreqa", 1)
    run = subprocess.run(command, shell=True, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return LINK.sub("", run.stdout)


def draw(commands: Sequence[str], folder: Path, picture: Path, columns: int) -> None:
    """Run the commands in a folder and draw the terminal."""
    console = Console(width=columns, record=True, file=io.StringIO(), force_terminal=True)
    for command in commands:
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        console.print(Text.from_ansi(printed(command, folder, columns).rstrip("\n")))
        console.print()
    drawn = console.export_svg(title="oreqa", theme=THEME, unique_id=picture.stem)
    # rich loads a font from another host; the browser's own monospaced font is sufficient.
    picture.write_text(FONT_FACE.sub("", drawn).replace("Fira Code", "DejaVu Sans Mono"), encoding="utf-8")
