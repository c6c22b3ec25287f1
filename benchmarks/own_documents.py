"""How well people's own documents are answered from: the questions of benchmarks/questions, asked as a user asks them.

Run:  python benchmarks/own_documents.py --work runs/own --half tuning --name after [--source OTHER/src]

Each collection is fetched, and indexed by itself with `oreqa index DIR --index DIR` and no option. Its questions go to
`Answerer.load(DIR).ask` and the first five passages come from `Index.search`, in a process that imports the code
under `--source`: a checkout of any age is measured with the scores of this one. A collection that cannot be indexed
answers nothing; that counts as a refusal, of unanswerable questions, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from common import commit, report
from support.own_collections import COLLECTIONS, lay_out

from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.evaluation.open_scores import Prediction
from oreqa.evaluation.refusals import DEPTH, grouped_metrics, refusal_metrics, score_replies
from oreqa.evaluation.runs import QuestionResult
from oreqa.provenance import data_hash

QUESTIONS = Path(__file__).parent / "questions"
OURS = Path(__file__).parent.parent / "src"
SHOWN = ("answerable_right", "answerable_em", "acc@5", "refused_answerable", "refused_unanswerable", "precision")

_ASK = """
import json, sys
from oreqa import Answerer
folder, depth = sys.argv[1], int(sys.argv[2])
key = lambda passage: passage.document_key if hasattr(passage, "document_key") else passage.document  # older code's name
texts = json.load(sys.stdin)
answerer = Answerer.load(folder)
answers = getattr(answerer, "ask_all", answerer.ask)(texts)  # older code's name
hits = answerer.index.search(texts, depth, "hybrid", "passage")
rows = [{"answers": [[a.text, a.score] for a in given],
         "passages": [[key(h.passage), h.passage.text, h.score] for h in found]}
        for given, found in zip(answers, hits)]
json.dump(rows, sys.stdout)
"""


def run(source: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Python with the code of another checkout. What it says goes to our standard error."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, env=environment, input=given, stdout=subprocess.PIPE, text=True, check=False)


def index(source: Path, folder: Path, place: Path) -> dict[str, Any]:
    """Index a folder: how many passages, the files that were left out, and the error if nothing could be indexed."""
    done = run(source, "-m", "oreqa", "index", str(folder), "--index", str(place), "--json")
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    problems = [str(problem).replace(str(folder), folder.name) for problem in said.get("problems", ())]
    failed = done.returncode > 1 or not said.get("passages")
    error = {"error": str(said.get("error", "nothing was indexed")).replace(str(folder), folder.name)} if failed else {}
    return {"passages": said.get("passages", 0), "left_out": problems, **error}


def ask(source: Path, place: Path, questions: list[OpenQuestion]) -> list[Prediction]:
    """What that code answers to the questions of one collection."""
    texts = json.dumps([question.text for question in questions])
    done = run(source, "-c", _ASK, str(place), str(DEPTH), given=texts)
    if done.returncode:
        raise RuntimeError(f"{place}: asking failed")
    return [
        Prediction([(text, score) for text, score in row["answers"]], "", [tuple(passage) for passage in row["passages"]])
        for row in json.loads(done.stdout)
    ]


def show(metrics: dict[str, dict[str, float]]) -> None:
    """A table with a row a collection."""
    print(f"{'':12}{'questions':>10}" + "".join(f"{name.removeprefix('answerable_'):>22}" for name in SHOWN))
    for name, row in metrics.items():
        cells = "".join(f"{row[key]:>22.1f}" if key in row else f"{'-':>22}" for key in SHOWN)
        print(f"{name:12}{row['answerable'] + row['unanswerable']:>10}{cells}")


def _row(result: QuestionResult) -> dict[str, Any]:
    rank = result.ranks[0] if result.ranks[0] <= DEPTH else None
    return {"right": result.metrics["right"], "passage": rank, "answer": result.answers[0][0] if result.answers else None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--half", choices=("tuning", "reporting"), required=True)
    parser.add_argument("--name", required=True, help="of results/own_documents-NAME-HALF.json, and of the indexes")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    parser.add_argument("--only", nargs="+", choices=list(COLLECTIONS), default=list(COLLECTIONS))
    options = parser.parse_args()
    file = QUESTIONS / f"{options.half}.jsonl"
    asked = [question for question in load_question_list(file) if question.collection in options.only]
    indexed: dict[str, Any] = {}
    predicted: dict[str, Prediction] = {}
    for name in options.only:
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
    report(f"own_documents-{options.name}-{options.half}", outcome)
    show({**groups["collection"], "all": whole})


if __name__ == "__main__":
    main()
