"""How do the cells of tables in PDFs reach the index? 30 tables of the Debian archive against pdf_tables.json.

Run:  python benchmarks/quality/pdf_tables.py --work runs/tables --name after [--source OTHER/src]

The tables were drawn before the table reader was written; half of them were used to build it. A cell is right if it
stands by itself at its place in its row: between its neighbours, or after the name of its column. White space is ignored, as
is any difference between lookalike characters. The text is read by the code under ``--source``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oreqa.provenance import commit
from oreqa.text.rows import row_cells

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS
from support.debian import fetch

TABLES = Path(__file__).with_suffix(".json")

_READ = """
import json, sys
from pathlib import Path
from oreqa.corpus.formats.pdf.document import read_pdf
for file in sys.argv[1:]:
    document = read_pdf(Path(file).read_bytes(), Path(file))
    print(json.dumps([document.text, [[place.start, place.name] for place in document.places]]))
"""


def read_pages(files: Sequence[Path], source: Path) -> list[dict[str, str]]:
    """Return the text of each page by name."""
    run = subprocess.run(
        [sys.executable, "-c", _READ, *map(str, files)],
        env={**os.environ, "PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    pages = []
    for line in run.stdout.splitlines():
        text, places = json.loads(line)
        texts: dict[str, str] = {}
        for (start, name), (end, _) in zip(places, [*places[1:], (len(text), "")], strict=True):
            texts[name] = texts.get(name, "") + text[start:end]
        pages.append(texts)
    return pages


def cells_of(line: str) -> tuple[list[str], list[str]]:
    """Return the names of a line's cells, if any, and the cells."""
    if cells := row_cells(line, 0):
        return [bare(line[slice(*name)]) for name, _ in cells], [bare(line[slice(*value)]) for _, value in cells]
    return [], [bare(cell) for cell in line.split(" | ")]


def bare(text: str) -> str:
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def right_cells(row: Sequence[str], header: Sequence[str] | None, lines: Sequence[tuple[list[str], list[str]]]) -> int:
    """Return how many of a row's filled cells are right in the line with the most; surplus cells subtract one."""
    filled = [(bare(header[at]) if header else "", bare(cell)) for at, cell in enumerate(row) if cell]
    best = 0
    for names, cells in lines:
        if len(cells) < 2 and len(filled) > 1:
            continue
        if names and header:
            right = sum(cell in zip(names, cells, strict=True) for cell in filled)
        elif names and [cell for _, cell in filled] == names:
            right = len(filled)
        else:
            right = sum(a == b for (_, a), b in zip(filled, cells, strict=False))
        best = max(best, right - (len(cells) > len(filled) and right == len(filled)))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="packages are kept here")
    parser.add_argument("--name", required=True, help="of results/files/tables-NAME.json")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    options = parser.parse_args()
    tables = json.loads(TABLES.read_bytes())
    files = []
    for table in tables:
        file = fetch(table["package"], options.work.absolute()) / table["file"]
        if file.suffix == ".gz":
            plain = options.work.absolute() / file.stem
            plain.write_bytes(gzip.decompress(file.read_bytes()))
            file = plain
        files.append(file)
    rows: list[dict[str, Any]] = []
    for table, pages in zip(tables, read_pages(files, options.source), strict=True):
        text = pages.get(f"page {table['page']}", "")
        lines = [cells_of(line) for line in text.split("\n")]
        whole = sum(sum(map(bool, row)) for row in table["rows"])
        right = sum(right_cells(row, table["header"], lines) for row in table["rows"])
        named = sum(bool(names) and names[0] == bare((table["header"] or [""])[0]) for names, _ in lines)
        rows.append({"file": table["file"].rsplit("/", 1)[-1], "page": table["page"], "half": table["half"],
                     "cells": whole, "right": right, "named_rows": named, "rows": len(table["rows"])})  # fmt: skip
    halves = {}
    for half in ("building", "reporting"):
        part = [row for row in rows if row["half"] == half]
        halves[half] = {
            "tables": len(part),
            "all_cells_right": sum(row["right"] == row["cells"] for row in part),
            "cells": sum(row["cells"] for row in part),
            "cells_right": round(100 * sum(row["right"] for row in part) / sum(row["cells"] for row in part), 1),
        }
    report(f"files/tables-{options.name}", {"commit": commit(options.source), "halves": halves, "tables": rows})


if __name__ == "__main__":
    main()
