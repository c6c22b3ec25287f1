"""Write the tables of docs/results/papers.md, with published figures and ours, from the raw figures under results/.

    python benchmarks/papers_page.py

The rows are those of benchmarks/support/paper_rows.py; everything between the marks of a table is replaced.
results/papers/rows.json has the same figures with all seeds, and the commit that each file names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import RESULTS, ROOT, mean_and_deviation
from support.paper_rows import ROWS, Figure, Row

from oreqa.files import write_json, write_text

PAGE = ROOT / "docs" / "results" / "papers.md"
HEAD = "| table, what | paper | here | learned; asked; seeds | verdict |\n|---|---|---|---|---|"


def read(figure: Figure, results: Path = RESULTS) -> Any:
    """Return the value under the keys. Raises KeyError if a repeated run no longer has the row."""
    value = json.loads((results / figure[0]).read_text(encoding="utf-8"))
    for key in figure[1:]:
        value = value[key]
    return value


def shown(value: float | Sequence[Any], seeds: int) -> str:
    """Format a figure; for several seeds, with its deviation: from mean and deviation (their values may follow), or from one
    value per seed."""
    if not isinstance(value, Sequence):
        return f"{value:.2f}"
    is_mean = len(value) == 2 or isinstance(value[-1], Sequence)
    mean, deviation = value[:2] if is_mean else mean_and_deviation(value)
    return f"{mean:.2f}" + (f"±{deviation:.2f}" if seeds > 1 else "")


def has_commit(figure: Figure, results: Path) -> bool:
    """Return whether a file names the code behind its figures, and that code was committed."""
    content = json.loads((results / figure[0]).read_text(encoding="utf-8"))
    return bool(re.fullmatch(r"[0-9a-f]{7,40}", str(content.get("commit"))))


def line(row: Row, results: Path = RESULTS) -> str:
    """Format the row in Markdown; a dagger marks figures whose exact commit is unknown."""
    what = f"**{row.table}** {row.system}"
    if not row.ours:
        return f"| {what} | {row.theirs} | | | {row.verdict} |".replace("|  |", "| |")
    seeds = row.seeds if isinstance(row.seeds, int) else read(row.seeds, results)
    values = [read(figure, results) for figure in row.ours]
    counts = all(isinstance(value, int) for value in values)
    ours = "→".join(str(value) if counts else shown(value, seeds) for value in values)
    mark = "" if all(has_commit(figure, results) for figure in row.ours) else "†"
    cells = (what, row.theirs, ours + mark, f"{row.size}; {seeds}", row.verdict)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def with_tables(text: str, results: Path = RESULTS) -> str:
    """Return the page with its tables rewritten. Raises ValueError for a table that the page lacks."""
    for name, rows in ROWS.items():
        table = "\n".join([HEAD, *(line(row, results) for row in rows)])
        marks = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", re.DOTALL)
        if not marks.search(text):
            raise ValueError(f"{PAGE}: it has no table between <!-- {name} --> and <!-- end -->")
        text = marks.sub(lambda match, table=table: match[1] + table + match[2], text)  # type: ignore[misc]
    return text


def raw_rows(results: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the figures of all rows, with their files and the commits that those name."""
    return [
        {
            "page": page,
            "table": row.table,
            "system": row.system,
            "published": row.theirs,
            "figures": [read(figure, results) for figure in row.ours],
            "commits": {figure[0]: read((figure[0], "commit"), results) for figure in row.ours},
            "verdict": row.verdict,
        }
        for page, rows in ROWS.items()
        for row in rows
    ]


def main() -> None:
    write_text(PAGE, with_tables(PAGE.read_text(encoding="utf-8")))
    write_json(RESULTS / "papers" / "rows.json", raw_rows())


if __name__ == "__main__":
    main()
