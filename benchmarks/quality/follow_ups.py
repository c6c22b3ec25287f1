"""How well are follow-up questions answered: as typed, completed by rule as in oreqa chat, and written out in full?

Run:  python benchmarks/quality/follow_ups.py --work runs/follow-ups --pairs development

The pairs are in follow_ups/ of this folder: a first question, a follow-up, the same written out in full, and its
answers. The manuals are packages of Debian 12, fetched and indexed without options. An answer is right by the rule of
own_documents.py; if a block is shown, the block counts. The questions of recipes/base/questions stand alone: those of each
manual are asked one after another, to count how many the rules would complete.
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from oreqa import Answer, Answerer
from oreqa.answering.follow_up import completed_question
from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.open_scores import is_right
from oreqa.files import read_jsonl
from oreqa.provenance import data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, index
from support.follow_up_manuals import lay_out_pairs_manual
from support.manual_questions import QUESTIONS

PAIRS = Path(__file__).parent / "follow_ups"
WAYS = ("bare", "carried", "written out")


def ways(row: dict[str, Any]) -> dict[str, str]:
    """Return the follow-up in each of its forms."""
    completed = completed_question(row["follow_up"], row["first"]) or row["follow_up"]
    return dict(zip(WAYS, (row["follow_up"], completed, row["question"]), strict=True))


def judged(answer: Answer | None, row: dict[str, Any]) -> dict[str, Any]:
    question = OpenQuestion(row["id"], row["question"], tuple(row["answers"]))
    texts = [] if answer is None else [answer.text]
    if answer is not None and answer.form == "block" and answer.block:
        texts.append(answer.block.text)
    return {"right": any(is_right(text, question) for text in texts), "answer": texts[-1] if texts else None}


def ask(rows: list[dict[str, Any]], work: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the outcome of each row in each form, in the rows' order."""
    outcome: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for name in dict.fromkeys(row["collection"] for row in rows):
        place = work / "indexes" / name
        if not place.exists():
            index(OURS, lay_out_pairs_manual(name, work), place)
        with Answerer.load(place) as answerer:
            for row in (row for row in rows if row["collection"] == name):
                for way, text in ways(row).items():
                    answers = answerer.ask(text)
                    outcome[way].append({"asked": text, **judged(answers[0] if answers else None, row)})
    return outcome


def completed_alone() -> dict[str, Any]:
    """Return how many standalone questions the rules complete, asked one after another for each manual."""
    question_count, completed = 0, []
    for file in sorted(QUESTIONS.glob("*.jsonl")):
        texts = [str(row["question"]) for _, row in read_jsonl(file)]
        for before, text in pairwise(texts):
            question_count += 1
            if (whole := completed_question(text, before)) is not None:
                completed.append([before, text, whole])
    return {"questions": question_count, "completed": len(completed), "examples": completed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="manuals and indexes are kept here")
    parser.add_argument("--pairs", choices=("development", "reporting"), required=True)
    options = parser.parse_args()
    file = PAIRS / f"{options.pairs}.jsonl"
    rows = [dict(row) for _, row in read_jsonl(file)]
    outcome = ask(rows, options.work)
    right = {way: [float(row["right"]) for row in each] for way, each in outcome.items()}
    tests = {}
    for a, b in (("bare", "carried"), ("carried", "written out")):
        difference = paired_difference(right[a], right[b])
        tests[f"{b} against {a}"] = {
            "won": sum(y > x for x, y in zip(right[a], right[b], strict=True)),
            "lost": sum(y < x for x, y in zip(right[a], right[b], strict=True)),
            "p": round(difference.p, 4),
        }
    if options.pairs == "development":  # of the other pairs, only the figures may be looked at
        for n, row in enumerate(rows):
            print(row["id"], *(f"\n  {way}: {outcome[way][n]}" for way in WAYS))
    report(
        f"chat/{options.pairs}",
        {
            "data_sha256": data_hash([file]),
            "pairs": len(rows),
            "right": {way: int(sum(each)) for way, each in right.items()},
            "tests": tests,
            "completed": sum(completed_question(row["follow_up"], row["first"]) is not None for row in rows),
            "alone": completed_alone(),
            "questions": {row["id"]: {way: int(right[way][n]) for way in WAYS} for n, row in enumerate(rows)},
        },
    )


if __name__ == "__main__":
    main()
