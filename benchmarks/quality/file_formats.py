"""How much text of manuals, notes, notebooks and code reaches the index? Word recall and precision by format.

Run:  python benchmarks/quality/file_formats.py --work runs/extraction

The files come from packages of the Debian archive. The words that oreqa reads in a file are compared as a bag of words
with those read by a program that shares no code with it: man, pandoc, info, w3m (for the page made by asciidoc), and for
JSON and source code a few lines of Python. These programs must be on the path.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.file_pages import file_pages
from support.pages import print_table, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/extraction"))
    rows = table(list(file_pages(parser.parse_args().work.absolute())))
    print_table(rows)
    report("files/extraction", rows)


if __name__ == "__main__":
    main()
