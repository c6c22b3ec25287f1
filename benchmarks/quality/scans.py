"""Scanned pages that are upright, sideways or upside down: how much of their text is read, and how fast?

Run:  python benchmarks/quality/scans.py --pages 8

Pages of demo/library are drawn at 150 dots per inch, turned by up to a degree, and saved as JPEG. Recall is the share
of the words that are read; accuracy is the share of characters that match in order, by difflib.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import sys
import textwrap
import time
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from oreqa.corpus.formats.pdf.document import read_pdf

sys.path.append(str(Path(__file__).parents[1]))
from common import ROOT, report

DPI = 150
SIZE = (8 * DPI, 11 * DPI)
TURNS = {"upright": 0, "on its left side": 90, "on its head": 180, "on its right side": 270}
LAYOUTS = {"one column": (1, 76), "two columns": (2, 36)}
"""Layouts: their columns, and the characters of a line."""
FONT, PITCH, LINES = 26, 36, 38


def draw(words: str, columns: int, width: int, rng: random.Random) -> tuple[Image.Image, str]:
    """Return a picture of a page, slightly skewed, and its text."""
    page = Image.new("L", SIZE, 255)
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(FONT)
    lines = textwrap.wrap(words, width)[: LINES * columns]
    for number, line in enumerate(lines):
        left = 90 + (SIZE[0] - 120) // columns * (number // LINES)
        pen.text((left, 120 + PITCH * (number % LINES)), line, font=font, fill=rng.randint(0, 70))
    return page.rotate(rng.uniform(-1, 1), fillcolor=255), " ".join(lines)


def scan(page: Image.Image, degrees: int) -> bytes:
    """Return a PDF of a page, rotated by ``degrees``."""
    data = io.BytesIO()
    page.rotate(degrees, expand=True).save(data, "PDF", resolution=DPI, quality=70)
    return data.getvalue()


def score(read: str, text: str) -> tuple[int, int, float]:
    """Return how many of the words were read, how many there are, and the accuracy of the characters."""
    words, there = (Counter(re.findall(r"\w+", each)) for each in (read, text))
    read, text = " ".join(read.split()), " ".join(text.split())
    matching = sum(block.size for block in SequenceMatcher(None, read, text, autojunk=False).get_matching_blocks())
    return (words & there).total(), there.total(), matching / max(len(read), len(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=8, help="of each layout")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for layout, (columns, width) in LAYOUTS.items():
        rng = random.Random(options.seed)
        files = rng.sample(sorted((ROOT / "demo" / "library").glob("*.md")), options.pages)
        pages = [draw(" ".join(file.read_text().split()), columns, width, rng) for file in files]
        figures[layout] = {}
        for turn, degrees in TURNS.items():
            scores, started = [], time.process_time()
            for page, text in pages:
                scores.append(score(read_pdf(scan(page, degrees), Path("scan.pdf")).text, text))
            figures[layout][turn] = {
                "word recall": round(100 * sum(read for read, _, _ in scores) / sum(there for _, there, _ in scores), 1),
                "character accuracy": round(100 * sum(accuracy for _, _, accuracy in scores) / len(scores), 1),
                "processor seconds a page": round((time.process_time() - started) / len(pages), 1),
            }
            print(layout, turn, figures[layout][turn], flush=True)
    report("files/scans", {"pages": options.pages, "figures": figures})


if __name__ == "__main__":
    main()
