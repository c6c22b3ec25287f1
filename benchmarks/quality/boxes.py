"""Compares the rectangles of answers on PDF pages with poppler's words: do they contain the answers' letters?

Run:  python benchmarks/quality/boxes.py --work runs/boxes

Answers are runs of one to twelve words, drawn from passages of the manuals of support/pdf_pages.py. Poppler (pdftotext
-bbox) gives the position of each word on a page. The letters and digits of the words whose centres are in an answer's
rectangles must equal those of the answer. Also measured are the CPU time of each step, that of drawing the answer's page
1,200 pixels wide, and the layouts' bytes per page.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from oreqa.core import Document
from oreqa.corpus.formats.pdf.boxes import TextBox, find_boxes
from oreqa.corpus.formats.pdf.layout import stretches_between
from oreqa.corpus.readers import read_documents
from oreqa.server.drawer import draw_page

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.pdf_pages import MANUALS, manual_file

LONGEST, SHOWN, WIDTH = 12, 5, 1200
DRAWN = 20
"""Pages of each manual that are drawn."""

Word = tuple[float, float, float, float, str]
"""Left, top, right and bottom as fractions of the page, and the text."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/boxes"))
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    rng, rows = random.Random(options.seed), {}
    seconds, drawing = list[float](), list[float]()
    each = -(-options.answers // len(MANUALS))
    size = pages = 0
    for manual in MANUALS:
        file = manual_file(manual, options.work)
        (document,) = read_documents(file)
        words = poppler_words(file)
        size, pages = size + len(document.layout), pages + len(words)
        right = count = 0
        for start, end in answers(document, each, rng):
            started = time.process_time()
            boxes = find_boxes(file, document.layout, start, document.text[start:end])
            seconds.append(time.process_time() - started)
            if count < DRAWN and boxes:
                drawing.append(seconds_to_draw(file, boxes[0].page))
            held, wanted = words_in(words, boxes), document.text[start:end]
            is_equal = letters(held) == letters([wanted])
            count, right = count + 1, right + is_equal
            if not is_equal and count - right <= SHOWN:
                print(f"{file.name}, page {boxes[0].page if boxes else None}: {wanted!r}: {' '.join(held)!r}", flush=True)
        rows[f"{manual.collection}: {file.stem}"] = {"answers": count, "equal": right}
    answer_count, equal = (sum(row[name] for row in rows.values()) for name in ("answers", "equal"))
    box_ms, page_ms = ([1000 * each for each in statistics.quantiles(taken, n=20)] for taken in (seconds, drawing))
    figures = {
        "answers": answer_count,
        "equal": equal,
        "equal_percent": round(100 * equal / answer_count, 2),
        "cpu_ms_median": round(box_ms[9], 1),
        "cpu_ms_p95": round(box_ms[18], 1),
        "page_cpu_ms_median": round(page_ms[9], 1),
        "page_cpu_ms_p95": round(page_ms[18], 1),
        "load": round(os.getloadavg()[0], 1),
        "layout_bytes_a_page": round(size / pages, 1),
        "pages": pages,
    }
    report("serving/boxes", {**figures, "seed": options.seed, "manuals": rows})


def seconds_to_draw(file: Path, page: int) -> float:
    """Return the CPU seconds for drawing a page."""
    started = time.process_time()
    with file.open("rb") as opened:
        draw_page(opened, page, WIDTH)
    return time.process_time() - started


def answers(document: Document, number: int, rng: random.Random) -> list[tuple[int, int]]:
    """Return runs of words of the text on pages, each as its first and last character."""
    stretches = stretches_between(document.layout, 0, len(document.text))
    placed = bytearray(len(document.text))
    for stretch in stretches:
        placed[stretch.start : stretch.start + stretch.length] = b"\1" * stretch.length
    words = [match.span() for match in re.finditer(r"\S+", document.text) if all(placed[match.start() : match.end()])]
    runs: list[tuple[int, int]] = []
    while len(runs) < number:
        first = rng.randrange(len(words))
        last = min(len(words) - 1, first + rng.randrange(LONGEST))
        start, end = words[first][0], words[last][1]
        apart = [at for at in range(start, end) if not placed[at] and not document.text[at].isspace()]
        if "\n\n" not in document.text[start:end] and not apart and letters([document.text[start:end]]):
            runs.append((start, end))
    return runs


def poppler_words(file: Path) -> list[list[Word]]:
    """Return the words of each page, by pdftotext."""
    command = ["pdftotext", "-bbox", "-cropbox", "-enc", "UTF-8", str(file), "-"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    root = etree.fromstring(
        re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", printed), etree.XMLParser(recover=True, huge_tree=True)
    )
    pages = []
    for page in root.iter("{*}page"):
        width, height = float(page.get("width")), float(page.get("height"))
        words = []
        for word in page.iter("{*}word"):
            left, top, right, bottom = (float(word.get(name)) for name in ("xMin", "yMin", "xMax", "yMax"))
            words.append((left / width, top / height, right / width, bottom / height, word.text or ""))
        pages.append(words)
    return pages


def words_in(pages: Sequence[Sequence[Word]], boxes: Sequence[TextBox]) -> list[str]:
    """Return the words in rectangles: a word's centre is between the sides, the rectangle's centre at the word's height."""
    words = []
    for box in boxes:
        middle = (box.top + box.bottom) / 2
        words += [
            text
            for left, top, right, bottom, text in pages[box.page - 1]
            if box.left <= (left + right) / 2 <= box.right and top <= middle <= bottom
        ]
    return words


def letters(texts: Sequence[str]) -> Counter[str]:
    """Count each letter and digit in the texts, whatever their order: programs read columns in different orders."""
    whole = unicodedata.normalize("NFKC", "".join(texts))
    return Counter(char for char in unicodedata.normalize("NFD", whole).casefold() if char.isalnum())


if __name__ == "__main__":
    main()
