"""Are tables answered from as well in Excel, HTML and Markdown as in CSV?

Run:  python benchmarks/quality/own_documents.py --work runs/own --questions tuning --name x (fetches the tables)
      python benchmarks/quality/table_formats.py --work runs/own --name after

The tables of own_documents.py are written in each format, indexed without options, and asked the questions of both
halves.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from oreqa.datasets.questions import load_question_list
from oreqa.evaluation.open_scores import refusal_metrics, score_replies

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, ask, index, show

QUESTIONS = Path(__file__).parent / "questions"
Rows = Sequence[Sequence[str]]


def write_csv(rows: Rows, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_excel(rows: Rows, path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet: Any = book.active
    for row in rows:
        sheet.append([float(cell) if cell.replace(".", "", 1).isdigit() else cell for cell in row])
    book.save(path)


def write_html(rows: Rows, path: Path) -> None:
    lines = (
        "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
        for tag, part in (("th", rows[:1]), ("td", rows[1:]))
        for row in part
    )
    path.write_text(f"<h1>{path.stem}</h1><table>" + "\n".join(lines) + "</table>", encoding="utf-8")


def write_markdown(rows: Rows, path: Path) -> None:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    path.write_text("\n".join([f"# {path.stem}", "", lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]), encoding="utf-8")


FORMATS: dict[str, Callable[[Rows, Path], None]] = {
    "csv": write_csv,
    "xlsx": write_excel,
    "html": write_html,
    "md": write_markdown,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where own_documents.py keeps its documents")
    parser.add_argument("--name", required=True, help="of results/documents/tables-NAME.json, and of the indexes")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    options = parser.parse_args()
    questions = [q for half in ("tuning", "reporting") for q in load_question_list(QUESTIONS / f"{half}.jsonl")]
    tables = [question for question in questions if question.collection == "tables"]
    result: dict[str, Any] = {}
    for suffix, write in FORMATS.items():
        folder = options.work / "formats" / suffix
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted((options.work / "collections" / "tables").glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                rows = [row for row in csv.reader(file) if row]
            write(rows, folder / f"{path.stem}.{suffix}")
        place = options.work / "indexes" / f"{options.name}-tables-{suffix}"
        said = index(options.source, folder, place)
        suffixed = [replace(q, document=q.document and q.document.replace(".csv", f".{suffix}")) for q in tables]
        results = score_replies(suffixed, ask(options.source, place, suffixed))
        result[suffix] = {"passages": said["passages"], "metrics": refusal_metrics(suffixed, results)}
    show({suffix: row["metrics"] for suffix, row in result.items()})
    report(f"documents/tables-{options.name}", result)


if __name__ == "__main__":
    main()
