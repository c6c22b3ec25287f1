"""How much text of people's own files reaches the index? Word recall and precision by page, against other extractors.

Run:  python benchmarks/quality/extraction.py --work runs/extraction [--only html pdf word]

The collections are packages of the Debian archive, fetched with `apt-get download` and unpacked. The words of a page
as read by oreqa, including title and headings, are compared as a bag of words with those of an extractor that shares no code
with it: w3m for web pages, poppler's pdftotext for PDFs, pandoc or LibreOffice for Word. What a collection's pages contain
besides their text (navigation, running heads) is removed from the reference by rules written here for that collection.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import RESULTS, report
from support.html_pages import html_pages
from support.office_pages import word_pages
from support.pages import Page, print_table, table
from support.pdf_pages import pdf_pages

EARLIER = RESULTS / "documents" / "extraction.json"
"""Collections that are not read now keep their rows."""


def main() -> None:
    kinds: dict[str, Callable[[Path], Iterator[Page]]] = {"html": html_pages, "pdf": pdf_pages, "word": word_pages}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/extraction"))
    parser.add_argument("--only", nargs="+", choices=kinds, default=list(kinds))
    options = parser.parse_args()
    rows = table([page for kind in options.only for page in kinds[kind](options.work.absolute())])
    print_table(rows)
    earlier = json.loads(EARLIER.read_bytes()) if EARLIER.exists() else {}
    earlier.pop("commit", None)  # the commit is that of this run
    report("documents/extraction", earlier | rows)


if __name__ == "__main__":
    main()
