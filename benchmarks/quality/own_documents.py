"""How well people's own documents are answered from: questions/ of this folder, asked as a user asks them.

Run:  python benchmarks/quality/own_documents.py --work runs/own --half tuning --name after [--lists] [--source OTHER/src]

Each collection is fetched, and indexed by itself with `oreqa index DIR --index DIR` and no option. Its questions go to
`Answerer.load(DIR).ask` and the first five passages come from `Index.search`, in a process that imports the code
under `--source`: a checkout of any age is measured with the scores of this one. A collection that cannot be indexed
answers nothing; that counts as a refusal, of unanswerable questions, too. `--lists` asks the questions about lists of
similar lines instead, of collections of their own.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from oreqa.datasets.questions import load_question_list
from oreqa.evaluation.open_scores import JUDGED_PASSAGES, Prediction, grouped_metrics, refusal_metrics, score_replies
from oreqa.evaluation.runs import QuestionResult
from oreqa.provenance import data_hash

sys.path.append(str(Path(__file__).parents[1]))
from common import commit, report
from support.asking import OURS, ask, index, show
from support.own_collections import COLLECTIONS, LISTS, lay_out

QUESTIONS = Path(__file__).parent / "questions"


def _row(result: QuestionResult) -> dict[str, Any]:
    rank = result.ranks[0] if result.ranks[0] <= JUDGED_PASSAGES else None
    return {"right": result.metrics["right"], "passage": rank, "answer": result.answers[0][0] if result.answers else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--half", choices=("tuning", "reporting"), required=True)
    parser.add_argument("--name", required=True, help="of results/documents/NAME-HALF.json, and of the indexes")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    parser.add_argument("--lists", action="store_true", help="ask about lists; results/documents/NAME-lists-HALF.json")
    parser.add_argument("--only", nargs="+", choices=[*COLLECTIONS, *LISTS], help="some of the collections")
    options = parser.parse_args()
    collections = options.only or list(LISTS if options.lists else COLLECTIONS)
    half = f"lists-{options.half}" if options.lists else options.half
    file = QUESTIONS / f"{half}.jsonl"
    asked = [question for question in load_question_list(file) if question.collection in collections]
    indexed: dict[str, Any] = {}
    predicted: dict[str, Prediction] = {}
    for name in collections:
        place = options.work / "indexes" / options.name / name
        indexed[name] = index(options.source, lay_out(name, options.work), place)
        own = [question for question in asked if question.collection == name]
        nothing = [Prediction([], "", []) for _ in own]
        given = nothing if "error" in indexed[name] else ask(options.source, place, own)
        predicted |= {question.id: row for question, row in zip(own, given, strict=True)}
    results = score_replies(asked, [predicted[question.id] for question in asked])
    groups = grouped_metrics(asked, results)
    whole = refusal_metrics(asked, results)
    outcome = {"commit": commit(options.source), "data_sha256": data_hash([file]), "metrics": whole, "by": groups,
               "indexed": indexed}  # fmt: skip
    if options.half == "tuning":  # of the other half only the sums are to be looked at
        outcome["questions"] = {question.id: _row(result) for question, result in zip(asked, results, strict=True)}
    report(f"documents/{options.name}-{half}", outcome)
    show({**groups["collection"], "all": whole})


if __name__ == "__main__":
    main()
