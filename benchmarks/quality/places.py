"""Where answers are said to be, compared with other programs: anchors of web pages, headings of Word files.

Run:  python benchmarks/quality/places.py --work runs/extraction

Sentences are drawn from web pages of ten packages (support/html_pages.py). The address that `oreqa serve --link` gives
for each is compared with the page as parsed by lxml: does the anchor exist, and does a browser find the words of the link
after it? Each paragraph of Word files (support/office_pages.py) that occurs once in oreqa's text is compared with the
headings above it as read by python-docx.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import docx
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from lxml import etree, html

from oreqa.core import Document, Passage
from oreqa.corpus.readers import read_documents
from oreqa.corpus.splitter import split_passages
from oreqa.errors import DocumentError
from oreqa.server.links import published_url

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.debian import fetch, fetch_source
from support.html_pages import COLLECTIONS, page_files

WORD_SOURCES = ("libapache-poi-java", "pandoc")
UNREADABLE = (DocumentError, KeyError, ValueError, AttributeError, etree.XMLSyntaxError, PackageNotFoundError)
KEPT = ("r-doc-html",)
"""Collections reserved for other measurements."""
SITE, TOKENS, SHORTEST, SHOWN = "https://docs.example.org", 200, 20, 5
TEXT = 10
"""The outline level of text."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/extraction"))
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    collections = [each for each in COLLECTIONS if each.package not in KEPT]
    each, rng = -(-options.answers // len(collections)), random.Random(options.seed)
    pages = {}
    for collection in collections:
        root = fetch(collection.package, options.work)
        pages[collection.package] = count_links(page_files(collection, options.work), root, each, rng)
        print(collection.package, pages[collection.package], flush=True)
    files = {}
    for package in WORD_SOURCES:
        files[package] = count_headings(sorted(fetch_source(package, options.work).rglob("*.docx")))
        print(package, files[package], flush=True)
    links, headings = total(pages.values()), total(files.values())
    figures = {
        **links,
        "anchors_percent": round(100 * links["anchor_exists"] / links["with_anchor"], 2),
        "text_percent": round(100 * links["text_behind_it"] / links["links"], 2),
        **headings,
        "headings_percent": round(100 * headings["same_headings"] / headings["paragraphs"], 2),
    }
    report("serving/places", {**figures, "seed": options.seed, "pages": pages, "word": files})


def total(rows: Iterable[dict[str, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row)
    return counts


def count_links(files: Sequence[Path], root: Path, number: int, rng: random.Random) -> dict[str, int]:
    """Return how many links to drawn sentences have an anchor, an existing one, and words that occur after it."""
    counts = dict.fromkeys(("links", "with_anchor", "anchor_exists", "text_behind_it"), 0)
    drawn = [(file, passage, sentence) for file in files for passage in passages(file) for sentence in passage.sentences]
    parsed: dict[Path, tuple[str, dict[str, int]]] = {}
    wrong = 0
    for file, passage, sentence in rng.sample(drawn, min(number, len(drawn))):
        url = published_url(passage, sentence, {str(root): SITE})
        assert url is not None
        anchor, _, words = urlsplit(url).fragment.partition(":~:text=")
        if file not in parsed:
            parsed[file] = page_text(file)
        text, anchors = parsed[file]
        name = unquote(anchor)
        says = stands(text[anchors.get(name, 0) :], [unquote(each) for each in words.split(",")])
        counts["links"] += 1
        counts["with_anchor"] += bool(name)
        counts["anchor_exists"] += bool(name) and name in anchors
        counts["text_behind_it"] += says
        if not says or (name and name not in anchors):
            wrong += 1
            if wrong <= SHOWN:
                print(f"  {file.name}: {unquote(url.partition('#')[2])!r}", flush=True)
    return counts


def passages(file: Path) -> Iterator[Passage]:
    """Yield a file's passages, counted in words; none for a file that oreqa refuses."""
    try:
        for document in read_documents(file):
            yield from split_passages(document, lambda texts: [len(text.split()) for text in texts], TOKENS)
    except DocumentError:
        return


def page_text(file: Path) -> tuple[str, dict[str, int]]:
    """Return a web page's text as lxml parses it, with single spaces, and the position of each anchor in it."""
    root = html.parse(str(file), html.HTMLParser(encoding="utf-8")).getroot()
    text, anchors = "", dict[str, int]()
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event == "start":
            for name in (element.get("id"), element.get("name") if element.tag == "a" else None):
                if name:
                    anchors.setdefault(name, len(text))
            piece = "" if element.tag in ("script", "style", "template") else element.text
        else:
            piece = element.tail
        if piece:
            text = plain(text[-1:] + piece) if not text else text[:-1] + plain(text[-1] + piece)
    return text, anchors


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def stands(text: str, ends: Sequence[str]) -> bool:
    """Return whether a text contains the first words and, after them, the last ones, in any case."""
    at, folded = 0, text.casefold()
    for words in ends:
        at = folded.find(words.casefold(), at)
        if at < 0:
            return False
        at += len(words)
    return True


def count_headings(files: Sequence[Path]) -> dict[str, int]:
    """Return how many paragraphs of Word files have the same headings in both programs."""
    counts = dict.fromkeys(("files", "paragraphs", "same_headings"), 0)
    for file in files:
        try:
            (document,) = read_documents(file)
            rows = list(headed_paragraphs(file))
        except UNREADABLE:
            continue  # damaged on purpose, or of a kind that one of them does not read
        counts["files"] += 1
        for text, path in rows:
            if len(text) < SHORTEST or document.text.count(text) != 1:
                continue
            ours = heading_at(document, document.text.index(text))
            ours = [document.title, *ours] if path[:1] == [document.title] and ours[:1] != path[:1] else ours
            counts["paragraphs"] += 1
            counts["same_headings"] += ours == path
            if ours != path and counts["paragraphs"] - counts["same_headings"] <= SHOWN:
                print(f"  {file.name}: {text[:50]!r}: {ours} for {path}", flush=True)
    return counts


def heading_at(document: Document, place: int) -> list[str]:
    for section in document.sections:
        if section.start <= place < section.end:
            return section.heading.split(" > ") if section.heading else []
    return []


def headed_paragraphs(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the paragraphs outside tables and boxes with the headings above them, by outline level and style."""
    document, open_headings = docx.Document(str(file)), list[tuple[int, str]]()
    for element in document.element.body.iter(qn("w:p")):
        if any(each.tag in (qn("w:tbl"), qn("w:txbxContent"), qn("w:del")) for each in element.iterancestors()):
            continue
        paragraph = Paragraph(element, document._body)
        text = plain(paragraph.text).strip()
        level = heading_level(paragraph)
        if level is None:
            yield text, [heading for _, heading in open_headings]
        elif text:
            open_headings = [row for row in open_headings if row[0] < level] + [(level, text)]


def heading_level(paragraph: Paragraph) -> int | None:
    """Return a paragraph's level from itself, its style or the base styles: 0 for the title, None for text."""
    level, style = outline(paragraph._p.pPr), paragraph.style
    while level is None and style is not None:
        match = re.fullmatch(r"Heading (\d)", style.name or "")
        level = 0 if style.name == "Title" else outline(style.element.pPr)
        level = int(match[1]) if level is None and match else level
        style = style.base_style
    return None if level == TEXT else level


def outline(properties: Any) -> int | None:
    """Return the outline level, from 1; TEXT for body text, None if there is none."""
    element = None if properties is None else properties.find(qn("w:outlineLvl"))
    return None if element is None else int(element.get(qn("w:val"))) + 1


if __name__ == "__main__":
    main()
