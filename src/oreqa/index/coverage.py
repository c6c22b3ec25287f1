"""The outcome of an update, and its text coverage: how many words of each page were extracted, and how many left out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oreqa.core import MISSING, Document, PageWords
from oreqa.corpus.formats.pdf.ocr import INSTALL, is_installed
from oreqa.errors import InputError
from oreqa.files import need_writable, write_text
from oreqa.index.generations import with_newest
from oreqa.index.store import open_documents
from oreqa.text.languages import LANGUAGES, foreign_language

ENOUGH = 0.8
"""The share of a page's words that must be extracted to give no warning."""

FEWEST_WORDS = 20
"""The fewest words from which a document's language is detected."""

_MIN_WORDS = 20
"""Pages with fewer words give no warning."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """The coverage of one page of an indexed document; ``page.page`` is empty if the file has no pages."""

    document: str
    page: PageWords


@dataclass
class Words:
    """Word counts summed over files; see ``PageWords``."""

    source: int = 0
    read: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def add(self, pages: Iterable[PageWords]) -> None:
        """Add the counts of pages."""
        for page in pages:
            self.source += page.source
            self.read += page.read
            for reason, count in page.left_out.items():
                self.left_out[reason] = self.left_out.get(reason, 0) + count


@dataclass(repr=False)
class Report:
    """Counts of documents and passages after an update, and the lines that a user should read."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    """Documents that were pruned."""
    gone: int = 0
    """Documents that are no longer in their source and were kept; ``prune`` would remove them."""
    files: int = 0
    """Files that contain the added, changed and unchanged documents; a table, mailbox or archive contains many."""
    passages: int = 0
    """Passages in the whole index."""
    encoded: int = 0
    """Passages that the model encoded; the vectors of the others were reused."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Files that no reader supports, counted by file extension."""
    examples: dict[str, str] = field(default_factory=dict)
    """One file of each of these extensions."""
    include: list[str] = field(default_factory=list)
    """The ``include`` patterns that add those of these files that hold text."""
    languages: dict[str, int] = field(default_factory=dict)
    """Documents read by this update that are not in English, counted by language."""
    words: Words = field(default_factory=Words)
    """Words of the files read by this update: in the source, extracted, and left out by reason."""
    problems: list[str] = field(default_factory=list)
    """One line per file that was skipped."""
    warnings: list[str] = field(default_factory=list)
    """One line per problem with a file from which too little text was extracted."""
    rebuilt: list[str] = field(default_factory=list)
    """Names of the files that were damaged and have been rebuilt: search files."""

    def note_unsupported(self, unknown: Mapping[str, int], examples: Mapping[str, Path], include: Sequence[str]) -> None:
        """Record the files that no reader supports, and the patterns that ``include`` those that hold text."""
        self.unknown = dict(unknown)
        self.examples = {kind: str(path) for kind, path in examples.items()}
        self.include = list(include)

    def read(self, document: Document) -> None:
        """Count a document's words and language, which a title or a table row is too short to tell."""
        self.words.add(document.pages)
        if code := foreign_language(document.text, FEWEST_WORDS):
            self.languages[LANGUAGES[code]] = self.languages.get(LANGUAGES[code], 0) + 1

    def __repr__(self) -> str:
        names = ("added", "changed", "unchanged", "removed", "gone", "passages", "encoded", "problems", "warnings")
        return f"Report({', '.join(f'{name}={value!r}' for name in names if (value := getattr(self, name)))})"


def share_read(page: PageWords) -> float:
    """Return the share of the words to extract that were extracted, at most 1; 1 if there are none."""
    wanted = page.source - sum(page.left_out.values())
    return min(1.0, page.read / wanted) if wanted > 0 else 1.0


def coverage_warnings(document: Document) -> list[str]:
    """Return up to three lines: pages with low coverage, pages without text, and pages that cannot be read.

    Pages with fewer than 20 words are ignored.
    """
    lines = []
    low = [page for page in document.pages if page.source >= _MIN_WORDS and share_read(page) < ENOUGH]
    if low:
        read = sum(page.read for page in low)
        wanted = sum(page.source - sum(page.left_out.values()) for page in low)
        lines.append(f"{_pages(low)}only {100 * read / wanted:.0f}% of the words came through ({read:,} of {wanted:,})")
    scans = [page for page in document.pages if page.page.startswith("page ") and not page.source]
    if scans:
        hint = "" if is_installed() else f" ({INSTALL})"
        lines.append(f"{_pages(scans)}no text: {'scans' if len(scans) > 1 else 'a scan'}?{hint}")
    missing = [page for page in document.pages if MISSING in page.left_out]
    if missing:
        lines.append(f"{_pages(missing)}cannot be read, or only in part")
    return lines


def _pages(pages: Sequence[PageWords]) -> str:
    """Return a prefix like "page 2: ", "pages 3 to 5, 9: " or "slides 1, 4: "; empty if the file has no pages."""
    if not pages[0].page:
        return ""
    kind, _, first = pages[0].page.rpartition(" ")
    numbers = [page.page.rpartition(" ")[2] for page in pages]
    if not kind or not all(number.isdecimal() for number in numbers):
        return f"{', '.join(page.page for page in pages[:5])}{', ...' if len(pages) > 5 else ''}: "
    if len(numbers) == 1:
        return f"{kind} {first}: "
    return f"{kind}s {', '.join(_runs([int(number) for number in numbers]))}: "


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    """Yield consecutive numbers as ranges: 3, 4, 5, 9 give "3 to 5" and "9"."""
    begin = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            first, last = numbers[begin], numbers[place - 1]
            yield str(first) if first == last else f"{first} to {last}"
            begin = place


def read_coverage(folder: Path) -> list[PageRow]:
    """Return every page of an index's documents, by document and in order; rows of tables have no pages.

    Raises IndexStateError if the index cannot be read.
    """

    def read(generation: Path) -> list[PageRow]:
        database = open_documents(generation)
        try:
            rows = database.execute(
                "SELECT key, page, pages.source, read, left_out FROM pages JOIN documents ON documents.id = document "
                "ORDER BY key, pages.rowid"
            )
            return [
                PageRow(key, PageWords(page, source, words, json.loads(left))) for key, page, source, words, left in rows
            ]
        finally:
            database.close()

    return with_newest(folder, read)


_COLUMNS = ("document", "page", "words", "read", "left out", "share read", "reasons")


def need_report(path: Path, index: Path) -> None:
    """Check a file that ``write_coverage`` will write.

    Raises InputError if it cannot be written, exists but is no earlier report, or lies among the files of the index.
    """
    need_writable(path, f"--report {path}")
    if path.resolve().is_relative_to(index.resolve()):
        raise InputError(f"--report {path}: it lies in the index's folder; name a file elsewhere")
    if path.is_file() and not path.read_bytes().startswith(",".join(_COLUMNS).encode()):
        raise InputError(f"--report {path}: it exists and is no report of oreqa index; name another file")


def write_coverage(path: Path, rows: Iterable[PageRow], skipped: Iterable[str] = ()) -> None:
    """Write a CSV file with one line per page: words in the source, extracted, left out, and why.

    Each entry of ``skipped``, of the form "FILE: reason", gets a line without counts.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        page = row.page
        reasons = "; ".join(f"{reason}: {count}" if count else reason for reason, count in page.left_out.items())
        counts = (page.source, page.read, sum(page.left_out.values()))
        writer.writerow((row.document, page.page, *counts, f"{share_read(page):.3f}", reasons))
    for line in skipped:
        name, _, reason = line.partition(": ")
        writer.writerow((name, "", "", "", "", "", f"skipped: {reason}"))
    write_text(path, text.getvalue())
