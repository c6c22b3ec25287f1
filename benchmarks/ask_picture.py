"""Draw docs/images/ask.svg: a terminal in which the demo's library is indexed and asked, as oreqa prints it.

python benchmarks/ask_picture.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "ask.svg"
COLUMNS = 68
COMMANDS = (
    "oreqa index demo/library --index kb",
    'oreqa ask "Who built the first pianos?" --index kb -k 1',
    'oreqa ask "Who won the world cup in 1974?" --index kb | head -6',
)
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


def printed(command: str, folder: Path) -> str:
    """What the command prints to a terminal, with its colours."""
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)}
    command = command.replace("oreqa", f"{sys.executable} -m oreqa", 1)
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def main() -> None:
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo").symlink_to(ROOT / "demo")
        for command in COMMANDS:
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text.from_ansi(printed(command, folder).rstrip("\n")))
            console.print()
    picture = console.export_svg(title="oreqa", theme=THEME, unique_id="ask")
    # rich loads a font from another host; the browser's own monospaced font does as well.
    picture = FONT_FACE.sub("", picture).replace("Fira Code", "DejaVu Sans Mono")
    PICTURE.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
