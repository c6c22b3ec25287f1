"""PDFs for extraction.py: manuals of the Debian archive, read by poppler's pdftotext and by oreqa, page by page.

The reference is `pdftotext -raw`, which gives a page's text in the order of the file, as PDFium does; the order does
not affect either measure. The rules below join words that are split at line ends, drop running heads, and leave out the
pages of tables of contents and indexes.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.readers import read_documents
from support.debian import fetch
from support.pages import Page

SAMPLE, SEED = 200, 17


@dataclass(frozen=True)
class Manual:
    """``heads`` are lines of running heads and feet, dropped among the first and last ``depth`` lines of a page. ``skipped``
    are the pages, from 1, of tables of contents and indexes."""

    collection: str
    package: str
    file: str
    heads: tuple[str, ...]
    depth: int = 1
    skipped: tuple[range, ...] = ()


_NUMBER = r"\d+|[ivxlc]+"

MANUALS = (
    Manual(
        "pdf: GLPK (LaTeX)",
        "glpk-doc",
        "usr/share/doc/glpk-doc/glpk.pdf",
        (_NUMBER,),
        skipped=(range(3, 9), range(122, 123)),  # page 122: a drawing made of letters
    ),
    Manual(
        "pdf: gnuplot (LaTeX)",
        "gnuplot-doc",
        "usr/share/doc/gnuplot/gnuplot.pdf",
        (r"\d* ?gnuplot 5\.4 ?\d*", r"(?:\d+ )?.{0,80} gnuplot 5\.4(?: \d+)?", r"\d+ gnuplot 5\.4 .{0,80}"),
        skipped=(range(2, 21), range(304, 312)),
    ),
    Manual(
        "pdf: Maxima book (LaTeX)",
        "maxima-doc",
        "usr/share/doc/maxima-doc/maximabook-19-Sept-2004.pdf.gz",
        (_NUMBER, r"(?:CHAPTER \d+|[A-Z ]+)\.? ?.*\d+"),
        skipped=(range(3, 6), range(131, 132)),
    ),
    Manual(
        "pdf: R manual (Texinfo)",
        "r-doc-pdf",
        "usr/share/R/doc/manual/R-exts.pdf",
        (_NUMBER, r"(?:Chapter \d+|Appendix [A-Z]): .* \d+", r"(?:Concept|Function and variable) index \d+"),
        skipped=(range(3, 8), range(230, 237)),
    ),
    Manual(
        "pdf: Titan naming (Word)",
        "eclipse-titan",
        "usr/share/doc/eclipse-titan/help/docs/naming.pdf",
        (
            r"Public|Approved Checked|2014-10-09 A|\[György Réthy\]",
            r"GUIDELINES \d+ \(24\)",
            r"Prepared \(also subject .*",
            r"ETH/RUS.*",
        ),
        depth=8,
        skipped=(range(1, 3),),
    ),
    *(
        Manual(
            "pdf: articles (2 columns)",
            "texlive-publishers-doc",
            f"usr/share/doc/texlive-doc/latex/{name}.pdf",
            (_NUMBER, r"The Name of the Title Is Hope .*", r"(?:.* )?Conference acronym .*", r".*, Trovato.*et al\."),
        )
        for name in (
            "ieeepes/ieeepes_doc",
            "acmart/samples/sample-sigconf",
            "acmart/samples/sample-sigplan",
            "revtex/sample/aps/apssamp",
        )
    ),
    Manual("pdf: Octave card (3 columns)", "octave-doc", "usr/share/doc/octave/refcard-a4.pdf", ()),
)


def pdf_pages(work: Path) -> Iterator[Page]:
    for manual in MANUALS:
        yield from manual_pages(manual, work)


def manual_file(manual: Manual, work: Path) -> Path:
    """Return the manual as a .pdf file, unpacked if necessary."""
    file = fetch(manual.package, work) / manual.file
    packed = file if file.suffix == ".gz" else file.with_name(f"{file.name}.gz")
    if not packed.exists():
        return file
    file = work / "unpacked" / packed.stem
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(packed) as source, file.with_suffix(".draft").open("wb") as target:
            shutil.copyfileobj(source, target)
        file.with_suffix(".draft").rename(file)
    return file


def manual_pages(manual: Manual, work: Path) -> Iterator[Page]:
    file = manual_file(manual, work)
    texts = subprocess.run(
        ["pdftotext", "-raw", "-enc", "UTF-8", str(file), "-"], capture_output=True, check=True, text=True
    ).stdout.split("\f")[:-1]
    (document,) = read_documents(file)
    texts_by_page = page_texts(document)
    counts = {page.page: page for page in document.pages}
    numbers = [n for n in range(1, len(texts) + 1) if not any(n in pages for pages in manual.skipped)]
    for number in sorted(random.Random(SEED).sample(numbers, min(SAMPLE, len(numbers)))):
        name = f"page {number}"
        page = counts.get(name)
        omitted = dict(page.left_out) if page else {}
        warned = page is not None and page.read + sum(omitted.values()) < 0.95 * page.source
        reference = plain(texts[number - 1], manual)
        yield Page(manual.collection, f"{file.name} {name}", reference, texts_by_page.get(name, ""), omitted, warned)


def plain(text: str, manual: Manual) -> str:
    """Return a page from pdftotext without its running heads, with words joined that line ends split."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    head = re.compile("|".join(f"(?:{rule})" for rule in manual.heads) or r"(?!)")
    kept = [
        line for at, line in enumerate(lines) if not (min(at, len(lines) - 1 - at) < manual.depth and head.fullmatch(line))
    ]
    text = re.sub(r"\bL\s?A\s?T\s?E\s?X", "LATEX", "\n".join(kept))  # the logo's letters are at several heights
    text = re.sub("[ﬀﬁﬂﬃﬄ]", lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return re.sub(r"([^\W\d_])[-\u00ad‐]\n(?=[a-z])", r"\1", text)


def page_texts(document: Document) -> dict[str, str]:
    """Return the text of each page of a document by name, with headings where their sections begin."""
    pieces: dict[str, list[str]] = {}
    ends = [place.start for place in document.places[1:]] + [len(document.text)]
    for place, end in zip(document.places, ends, strict=True):
        pieces.setdefault(place.name, []).append(document.text[place.start : end])
    path: list[str] = []
    for section in document.sections:
        names = section.heading.split(" > ") if section.heading else []
        shared = 0
        while shared < min(len(names), len(path)) and names[shared] == path[shared]:
            shared += 1
        place = max((place for place in document.places if place.start <= section.start), key=lambda place: place.start)
        pieces.setdefault(place.name, []).append("\n".join(names[shared:]))
        path = names
    return {name: "\n".join(parts) for name, parts in pieces.items()}
