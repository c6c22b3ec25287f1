"""Index documents and ask questions about them with the code of any checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from oreqa.datasets.questions import OpenQuestion
from oreqa.evaluation.answers import exact_match
from oreqa.evaluation.open_scores import JUDGED_PASSAGES, Prediction, is_right

OURS = Path(__file__).parents[2] / "src"
SHOWN = ("answerable_right", "answerable_em", "acc@5", "refused_answerable", "refused_unanswerable", "precision")

_ASK = """
import json, sys
from oreqa import Answerer
folder, depth = sys.argv[1], int(sys.argv[2])
key = lambda passage: passage.document_key if hasattr(passage, "document_key") else passage.document  # older code's name
texts = json.load(sys.stdin)
answerer = Answerer.load(folder)
if hasattr(answerer, "reply"):
    replies = answerer.reply(texts)
    answers, hits = [reply.answers for reply in replies], [reply.hits[:depth] for reply in replies]
else:  # older code
    answers = getattr(answerer, "ask_all", answerer.ask)(texts)
    hits = answerer.index.search(texts, depth, mode="hybrid", unit="passage")
rows = [{"answers": [[a.text, a.score] for a in given],
         "passages": [[key(h.passage), h.passage.text, h.score] for h in found]}
        for given, found in zip(answers, hits)]
json.dump(rows, sys.stdout)
"""


def run(source: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with the code of another checkout. Its error output goes to our standard error."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, env=environment, input=given, stdout=subprocess.PIPE, text=True, check=False)


def index(source: Path, folder: Path, place: Path) -> dict[str, Any]:
    """Index a folder; return the number of passages, the files left out, and the error if nothing could be indexed."""
    done = run(source, "-m", "oreqa", "index", str(folder), "--index", str(place), "--json")
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    problems = [str(problem).replace(str(folder), folder.name) for problem in said.get("problems", ())]
    failed = done.returncode > 1 or not said.get("passages")
    error = {"error": str(said.get("error", "nothing was indexed")).replace(str(folder), folder.name)} if failed else {}
    return {"passages": said.get("passages", 0), "left_out": problems, **error}


def ask(source: Path, place: Path, questions: list[OpenQuestion]) -> list[Prediction]:
    """Return that code's answers to the questions of one collection."""
    texts = json.dumps([question.text for question in questions])
    done = run(source, "-c", _ASK, str(place), str(JUDGED_PASSAGES), given=texts)
    if done.returncode:
        raise RuntimeError(f"{place}: asking failed")
    return [
        Prediction([(text, score) for text, score in row["answers"]], "", [tuple(passage) for passage in row["passages"]])
        for row in json.loads(done.stdout)
    ]


def judged(question: OpenQuestion, answer: str) -> str:
    """Judge SQuAD's answers as its script does, those made by rule to the character, people's as own_documents.py does."""
    if not answer:
        return "refused"
    if question.collection is None:
        return "right" if exact_match(answer, question.answers) else "wrong"
    right = answer in question.answers if question.kind in ("option", "cell") else is_right(answer, question)
    return "right" if right else "wrong"


def show(metrics: dict[str, dict[str, float]]) -> None:
    """Print a table with a row per collection."""
    print(f"{'':12}{'questions':>10}" + "".join(f"{name.removeprefix('answerable_'):>22}" for name in SHOWN))
    for name, row in metrics.items():
        cells = "".join(f"{row[key]:>22.1f}" if key in row else f"{'-':>22}" for key in SHOWN)
        print(f"{name:12}{row['answerable'] + row['unanswerable']:>10}{cells}")
