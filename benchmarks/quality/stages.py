"""What does each stage of an answer add? The search, the passages that are read, the reader, and the choice of its answers.

Run:  python benchmarks/quality/stages.py --work runs/own

The questions about people's documents (both halves) and about held-out manuals that a short span answers, and those without
an answer, are asked with `fast`, with the reader of `best` on the first five passages of the search, and with `best`. For
each: whether a passage that is read holds an answer, whether a right answer is among the first five, whether the first one
is right, and what is refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answering import Answerer
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.open_scores import has_answer, is_right
from oreqa.models.graph.precision import used_precision
from oreqa.provenance import commit, data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, index
from support.manual_questions import MANUALS, lay_out_manual, manual_questions
from support.own_collections import COLLECTIONS, lay_out

QUESTIONS = Path(__file__).parent / "questions"
HALVES = tuple(QUESTIONS / f"{name}.jsonl" for name in ("tuning", "reporting"))
SYSTEMS = ("fast", "best, as searched", "best")
ANSWERS = 5
MEASURES = ("read", "among five", "first", "given and right", "refused")

Measured = dict[str, float]


def measured(answerer: Answerer, question: OpenQuestion) -> Measured:
    """Return the measures of one question, as 0 or 1; of one without an answer, whether it is refused."""
    calibration = answerer.calibration
    assert calibration is not None
    reply, needed = answerer.reply(question.text, ANSWERS, threshold=0), calibration.threshold
    first = next(iter(reply.answers), None)
    given = first is not None and (first.computation is not None or (first.confidence or 0) >= needed)
    if not question.is_answerable:
        return {"refused": float(not given)}
    right = [is_right(answer.text, question) for answer in reply.answers]
    return {
        "read": float(any(has_answer(hit.passage.text, question) for hit in reply.hits)),
        "among five": float(any(right)),
        "first": float(right[:1] == [True]),
        "given and right": float(given and right[0]),
        "refused": float(not given),
    }


def measure(place: Path, questions: list[OpenQuestion], system: str) -> list[Measured]:
    """Return the measures of an index's questions."""
    with Answerer.load(place, quality="fast" if system == "fast" else "best") as answerer:
        if system == "best, as searched":
            answerer.passage_reranker = None
        return [measured(answerer, question) for question in questions]


def shares(rows: list[Measured]) -> Measured:
    """Return the numbers of questions and the means in percent."""
    answerable, others = ([row for row in rows if ("read" in row) == which] for which in (True, False))
    means = {name: round(100 * float(np.mean([row[name] for row in answerable])), 1) for name in MEASURES}
    refused = round(100 * float(np.mean([row["refused"] for row in others])), 1)
    return {"answerable": len(answerable), "unanswerable": len(others), **means, "unanswerable refused": refused}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    options = parser.parse_args()
    halves = [question for file in HALVES for question in load_question_list(file)]
    groups: dict[str, dict[str, tuple[Callable[[str, Path], Path], list[OpenQuestion]]]] = {
        "own documents": {name: (lay_out, [q for q in halves if q.collection == name]) for name in COLLECTIONS},
        "manuals": {name: (lay_out_manual, manual_questions(name)) for name in MANUALS},
    }
    outcome: dict[str, Any] = {
        "commit": commit(OURS), "data_sha256": data_hash(HALVES), "precision": used_precision("cpu", "reader"),
    }  # fmt: skip
    for group, collections in groups.items():
        rows: dict[str, list[Measured]] = {system: [] for system in SYSTEMS}
        for name, (fetch, questions) in collections.items():
            place = options.work / "indexes" / "stages" / name
            index(OURS, fetch(name, options.work), place)
            for system in SYSTEMS:
                rows[system] += measure(place, questions, system)
            print(name, flush=True)
        outcome[group] = {system: shares(system_rows) for system, system_rows in rows.items()}
        before, after = (rows[system] for system in SYSTEMS[1:])
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if "read" in a]
        outcome[group]["gain of re-ranking passages"] = {
            name: asdict(paired_difference([a[name] for a, _ in pairs], [b[name] for _, b in pairs])) for name in MEASURES
        }
        for system in SYSTEMS:
            print(f"{group:15}{system:20}", outcome[group][system])
    report("documents/stages", outcome)


if __name__ == "__main__":
    main()
