"""Draw docs/images/ask.svg: a terminal in which the demo's library is indexed and asked, as oreqa prints it.

python benchmarks/ask_picture.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from support.terminal import draw

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "ask.svg"
COLUMNS = 68
COMMANDS = (
    "oreqa index demo/library --index kb",
    'oreqa ask "Who built the first pianos?" --index kb -k 1',
    'oreqa ask "Who won the world cup in 1974?" --index kb | head -6',
)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "demo").symlink_to(ROOT / "demo")
        draw(COMMANDS, folder, PICTURE, COLUMNS)


if __name__ == "__main__":
    main()
