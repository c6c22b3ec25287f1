"""Asks by rule for fields of a reference: the defaults of Mutt's variables.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/fields.py --work runs/own

The manual gives each variable's type and default on separate lines, "Type: number" and "Default: 5". An answer is
right if it is the default, from a passage that names the variable. All are asked as oreqa does, without ruling out other
fields, and without ruling out entries about other variables.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from oreqa import Answerer, Index, index_files
from oreqa.answer import Answer
from oreqa.core import Range
from oreqa.evaluation.metrics import paired_difference

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.debian import fetch

SEED = 0
DEFAULT, VARIABLE = re.compile(r"^Default: (.+)$", re.MULTILINE), re.compile(r"> 3\.\d+\. (\w+)$")
QUOTES = "“”\"' "


def defaults(folder: Path) -> dict[str, str]:
    """Return the default of each variable with an underscore in its name."""
    golds: dict[str, str] = {}
    with Index.open(folder) as index:
        for passage in index.passages():
            name, value = VARIABLE.search(passage.heading), DEFAULT.search(passage.text)
            if name and value and "_" in name[1]:
                golds.setdefault(name[1], value[1].strip(QUOTES))
    return golds


def is_right(answers: list[Answer], name: str, gold: str) -> bool:
    if not answers:
        return False
    answer, passage = answers[0].text.strip(QUOTES), answers[0].passage
    return (answer in gold or gold in answer) and name.lower() in f"{passage.heading} {passage.text}".lower()


def no_fields(question: str, text: str) -> list[Range]:
    return []


def no_entries(question: str, texts: Sequence[tuple[str, str]]) -> list[list[Range]]:
    return [[] for _ in texts]


RUNS: dict[str, dict[str, Any]] = {
    "with": {},
    "without": {"other_fields": no_fields},
    "without_entries": {"other_entries": no_entries},
}


def measure(folder: Path) -> dict[str, Any]:
    golds = defaults(folder)
    questions = [f"What is the default of {name}?" for name in golds]
    rights: dict[str, list[bool]] = {}
    figures: dict[str, dict[str, Any]] = {}
    for run, rules in RUNS.items():
        with ExitStack() as patched:
            for name, rule in rules.items():
                patched.enter_context(patch(f"oreqa.answering.reading.{name}", rule))
            with Answerer.load(folder) as answerer:
                replies = answerer.ask(questions, k=1)
        rights[run] = [is_right(reply, *gold) for reply, gold in zip(replies, golds.items(), strict=True)]
        refused = sum(not answers for answers in replies)
        figures[run] = {"right": sum(rights[run]), "refused": refused, "wrong": len(golds) - sum(rights[run]) - refused}
    for run in list(RUNS)[1:]:
        pairs = list(zip(rights[run], rights["with"], strict=True))
        p = paired_difference(rights[run], rights["with"], SEED).p
        figures[run] |= {"won": pairs.count((False, True)), "lost": pairs.count((True, False)), "p": p}
    return {"questions": len(golds), **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="the manual and its index are kept here")
    options = parser.parse_args()
    manual, folder = options.work / "mutt-manual", options.work / "mutt-manual-index"
    if not manual.exists():
        shutil.copytree(fetch("mutt", options.work) / "usr/share/doc/mutt/html", manual)
        (manual / "manual.html").unlink()  # the same chapters on one page
    index_files(folder, manual)
    report("files/fields", measure(folder))


if __name__ == "__main__":
    main()
