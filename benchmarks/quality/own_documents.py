"""How well are people's own documents answered from? The questions of questions/, asked as a user asks them.

Run:  python benchmarks/quality/own_documents.py --work runs/own --questions tuning --name after [--source OTHER/src]

Each collection is fetched and indexed separately with `oreqa index DIR --index DIR` and no option. Its questions go
to `Answerer.load(DIR).ask`, and the first five passages come from `Index.search`, in a process that imports the code under
`--source`: a checkout of any age is scored by the rules of this one. A collection that cannot be indexed has no answers;
these count as refusals, also of unanswerable questions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from oreqa.datasets.questions import load_question_list
from oreqa.evaluation.open_scores import JUDGED_PASSAGES, Prediction, grouped_metrics, refusal_metrics, score_replies
from oreqa.evaluation.runs import QuestionResult
from oreqa.provenance import commit, data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, ask, index, show
from support.own_collections import EVERY, lay_out

QUESTIONS = Path(__file__).parent / "questions"


def _row(result: QuestionResult) -> dict[str, Any]:
    rank = result.ranks[0] if result.ranks[0] <= JUDGED_PASSAGES else None
    return {"right": result.metrics["right"], "passage": rank, "answer": result.answers[0][0] if result.answers else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--questions", choices=sorted(file.stem for file in QUESTIONS.glob("*.jsonl")), required=True)
    parser.add_argument("--name", required=True, help="of results/documents/NAME-QUESTIONS.json, and of the indexes")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    parser.add_argument("--only", nargs="+", choices=list(EVERY), help="some of the collections")
    options = parser.parse_args()
    file = QUESTIONS / f"{options.questions}.jsonl"
    every = load_question_list(file)
    collections = sorted({str(question.collection) for question in every} & {*(options.only or EVERY)})
    selected = [question for question in every if question.collection in collections]
    indexed: dict[str, Any] = {}
    predicted: dict[str, Prediction] = {}
    for name in collections:
        place = options.work / "indexes" / options.name / name
        indexed[name] = index(options.source, lay_out(name, options.work), place)
        own = [question for question in selected if question.collection == name]
        nothing = [Prediction([], "", []) for _ in own]
        given = nothing if "error" in indexed[name] else ask(options.source, place, own)
        predicted |= {question.id: row for question, row in zip(own, given, strict=True)}
    results = score_replies(selected, [predicted[question.id] for question in selected])
    groups = grouped_metrics(selected, results)
    whole = refusal_metrics(selected, results)
    outcome = {"commit": commit(options.source), "data_sha256": data_hash([file]), "metrics": whole, "by": groups,
               "indexed": indexed}  # fmt: skip
    if "tuning" in options.questions:  # of the other questions, only the sums may be looked at
        outcome["questions"] = {question.id: _row(result) for question, result in zip(selected, results, strict=True)}
    report(f"documents/{options.name}-{options.questions}", outcome)
    show({**groups["collection"], "all": whole})


if __name__ == "__main__":
    main()
