"""Runs small cases: each is a folder with files to index, a question, and the right answers.

Run:  python benchmarks/quality/cases.py --cases FOLDER --name after [--only 17 45]

A case's `expect.json` contains its `question` and a list, `expect`. The first answer is right if it contains an entry
of the list as whole words and is at most four times as long plus 20 characters; if the list is empty, it must be missing. If
there is a folder `files-v2`, its files then replace those of the same name, "delete files/NAME" in `steps` removes one, and
the index is refreshed with `--prune` before the question is asked.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from oreqa import Answerer, index_files

sys.path.append(str(Path(__file__).parents[1]))
from common import report

_DELETED = re.compile(r"delete files/([\w.-]+)")


def is_right(answer: str | None, expected: list[str]) -> bool:
    """Return whether an answer is one of those expected, or missing where none is expected."""
    if answer is None or not expected:
        return answer is None and not expected
    return any(
        re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer, re.IGNORECASE) and len(answer) <= 4 * len(text) + 20
        for text in expected
    )


def run(case: Path, expect: dict[str, Any], work: Path) -> list[tuple[str, float | None]]:
    """Return the answers to a case's question, from an index of its files made in the folder ``work``."""
    files, index = work / "files", work / "index"
    shutil.copytree(case / "files", files, copy_function=shutil.copyfile)
    files.chmod(0o755)
    index_files(index, files)
    deleted = _DELETED.search(str(expect.get("steps", "")))
    if deleted:
        (files / deleted[1]).unlink()
    if (case / "files-v2").is_dir():
        shutil.copytree(case / "files-v2", files, copy_function=shutil.copyfile, dirs_exist_ok=True)
        files.chmod(0o755)
    if "steps" in expect:
        index_files(index, files, prune=True)
    with Answerer.load(index) as answerer:
        return [(answer.text, answer.confidence) for answer in answerer.ask(str(expect["question"]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, required=True, help="the folder of the cases")
    parser.add_argument("--name", required=True, help="of results/files/cases-NAME.json")
    parser.add_argument("--only", nargs="+", default=[""], help="how the cases' names begin")
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    for case in sorted(folder for folder in options.cases.iterdir() if folder.name.startswith(tuple(options.only))):
        if not (case / "expect.json").exists():
            continue
        expect = json.loads((case / "expect.json").read_bytes())
        with tempfile.TemporaryDirectory() as work:
            try:
                answers = run(case, expect, Path(work))
            except Exception as error:  # what cannot be indexed has no answer; the error is printed
                answers = []
                print(f"{case.name}: {error}", file=sys.stderr)
        first = answers[0][0] if answers else None
        rows[case.name] = {"right": is_right(first, expect["expect"]), "answers": answers[:2]}
        print(f"{'right' if rows[case.name]['right'] else 'WRONG'}  {case.name:<36}{answers[:2]}", flush=True)
    print(f"{sum(row['right'] for row in rows.values())} of {len(rows)} right")
    report(f"files/cases-{options.name}", {"cases": rows})


if __name__ == "__main__":
    main()
