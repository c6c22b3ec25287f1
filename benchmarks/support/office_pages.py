"""Word, OpenDocument, PowerPoint and Excel files of the Debian archive, for extraction.py.

Real files, attached to bug reports, come with the sources of Apache POI and of ODFDOM; small files for each feature come
with those of pandoc. The references are pandoc's plain text, python-pptx's text frames, tables and notes, and the tables
written by xlsx2csv. None of them reads headers and footers, and pandoc does not read text boxes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError
from support.debian import fetch, fetch_source
from support.pages import Page

SOURCES = {"libapache-poi-java": ("docx", "pptx", "xlsx"), "libodfdom-java": ("odt",), "pandoc": ("docx", "odt")}
ADDED = "Headers and footers"
ADDED_SLIDE = re.compile(r"slide \d+")
"""Headings that oreqa adds: of what the references do not read, and of slides without a title."""
WITHOUT_PICTURES = "function Image() return {} end"
"""For pandoc: oreqa counts descriptions of pictures as left out, so the references omit them too."""


def word_pages(work: Path) -> Iterator[Page]:
    """Yield a page for each file with words that both can read."""
    for package, kinds in SOURCES.items():
        folder = fetch_source(package, work)
        for kind in kinds:
            yield from _pages(f"{kind}, {package}", sorted(folder.rglob(f"*.{kind}")), work)


def _pages(collection: str, files: list[Path], work: Path) -> Iterator[Page]:
    for file in files:
        reference = _reference(file, work)
        if not re.search(r"\w", reference):
            continue
        try:
            (document,) = read_documents(file)
        except DocumentError as error:
            if "encrypted" not in str(error):
                yield Page(collection, file.name, reference, "", {}, True)
            continue
        counts = [(page.source, page.read + sum(page.left_out.values())) for page in document.pages]
        omitted: dict[str, int] = {}
        for page in document.pages:
            for reason, number in page.left_out.items():
                omitted[reason] = omitted.get(reason, 0) + number
        warned = any(source >= 20 and said < 0.95 * source for source, said in counts)
        text = _document_text(document, reference)
        yield Page(collection, file.name, reference, _distinct(text) if file.suffix == ".xlsx" else text, omitted, warned)


def _document_text(document: Document, reference: str) -> str:
    """Return a document's text with each heading where its section begins, and its title if the reference also has it."""
    pieces = [document.title] if " ".join(document.title.split()) in " ".join(reference.split()) else []
    if not document.sections:
        pieces.append(document.text)
    above: list[str] = []
    for section in document.sections:
        path = section.heading.split(" > ") if section.heading else []
        same = next((n for n, (a, b) in enumerate(zip(path, above, strict=False)) if a != b), min(len(path), len(above)))
        if path == above:  # two slides of the same title
            same = max(0, len(path) - 1)
        above = path
        if path != [ADDED]:
            pieces += [
                *(name for name in path[same:] if not ADDED_SLIDE.fullmatch(name)),
                document.text[section.start : section.end],
            ]
    return "\n".join(pieces)


def _reference(file: Path, work: Path) -> str:
    """Return the text of another extractor; "" if it cannot read the file."""
    kept = work / "references" / "/".join(file.parts[-3:])
    kept = kept.with_name(f"{kept.name}.txt")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(
            _slides(file) if file.suffix == ".pptx" else _sheets(file, work) if file.suffix == ".xlsx" else _plain(file)
        )
    return kept.read_text()


def _plain(file: Path) -> str:
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as without:
            without.write(WITHOUT_PICTURES)
            without.flush()
            command = ["pandoc", "-t", "plain", "--wrap=none", f"--lua-filter={without.name}", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _distinct(text: str) -> str:
    """Return each word of letters once: readers differ in how they show numbers and dates, and how often column names."""
    return " ".join(dict.fromkeys(word for word in re.findall(r"\w+", text.lower()) if word.isalpha()))


def _slides(file: Path) -> str:
    from pptx import Presentation
    from pptx.enum.shapes import PP_PLACEHOLDER as KINDS

    counters = (KINDS.SLIDE_NUMBER, KINDS.DATE, KINDS.FOOTER, KINDS.HEADER)

    def texts(shapes: object) -> Iterator[str]:
        for shape in shapes:  # type: ignore[attr-defined]
            if shape.is_placeholder and shape.placeholder_format.type in counters:
                continue
            if hasattr(shape, "shapes"):
                yield from texts(shape.shapes)
            elif getattr(shape, "has_table", False):
                yield from (cell.text for row in shape.table.rows for cell in row.cells)
            elif shape.has_text_frame:
                yield shape.text_frame.text

    try:
        slides = list(Presentation(str(file)).slides)
        return "\n".join(
            text
            for slide in slides
            for part in (slide, *([slide.notes_slide] if slide.has_notes_slide else []))
            for text in texts(part.shapes)
        )
    except Exception as error:
        print(f"{file.name}: {error!r}", file=sys.stderr)
        return ""


def _sheets(file: Path, work: Path) -> str:
    """Return the distinct words of all sheets that are not hidden."""
    program = next(fetch("xlsx2csv", work).rglob("xlsx2csv*.py"), None)
    if program is None:
        return ""
    command = [sys.executable, str(program), "-a", "-e", "--exclude_hidden_sheets", str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:  # of a file that expands its entities without end
        return ""
    if done.returncode:
        return ""
    return _distinct("\n".join(line for line in done.stdout.splitlines() if not line.startswith("-------- ")))
