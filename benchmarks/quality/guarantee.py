"""Is the promise of `oreqa ask --at-least` kept on other questions about the same documents?

Run:  python benchmarks/quality/guarantee.py --data ../shared/data --work runs/guarantee

Each collection is indexed whole. `oreqa fit` gets 600 of its questions, of which 200 have no answer there: they belong
to the next collection. 450 other questions, a third of them without an answer, are asked. An answer is right from an F1 of
0.5, as for `oreqa fit`. There are three draws.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from oreqa import Answerer, InputError
from oreqa.datasets.paragraphs import load_squad, whole_passages
from oreqa.files import write_jsonl
from oreqa.fitting import fit_index
from oreqa.index.passages import index_passages
from oreqa.text.answers import f1_score

sys.path.append(str(Path(__file__).parents[1]))
from common import report

COLLECTIONS = ("sleepqa", "timeqa-human", "covidqa-passages", "friendsqa", "nq-short-sample")
SHARES = (0.6, 0.7, 0.8, 0.9)
FITTED, ASKED = 400, 300
"""Answerable questions that are fitted on, and others that are asked."""

Row = dict[str, Any]


def load(data: Path, collection: str, index: Path) -> list[Row]:
    """Index a collection's paragraphs, and return its questions, each wording once."""
    paragraphs = load_squad(data / "extractive" / f"{collection}.json.gz")
    index_passages(index, whole_passages(paragraphs))
    rows: dict[str, Row] = {}
    for paragraph in paragraphs:
        for question in paragraph.questions:
            row = rows.setdefault(question.text, {"question": question.text, "answers": []})
            row["answers"] += [gold.text for gold in question.answers]
    return [row for row in rows.values() if row["answers"]]


def measure(index: Path, own: list[Row], others: list[Row], work: Path, seed: int) -> dict[str, Any]:
    """Fit on some questions, ask others."""
    rng = random.Random(seed)
    own, without = rng.sample(own, FITTED + ASKED), [{**row, "answers": []} for row in rng.sample(others, 350)]
    data, place = work / "questions.jsonl", work / "kb"
    write_jsonl(data, [*own[:FITTED], *without[:200]])
    held_out = [*own[FITTED:], *without[200:]]
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(index, place)
    fitted = fit_index(place, data=data, questions=600, seed=seed)
    figures: dict[str, Any] = {"held out": fitted.kept_answers, "fitted": list(fitted.fitted)}
    with Answerer.load(place) as answerer:
        firsts = answerer.ask([row["question"] for row in held_out], k=1, threshold=0)
        for share in SHARES:
            try:
                promise = answerer.guarantee(share)
            except InputError:
                figures[str(share)] = None
                continue
            given = [
                (row["answers"], answers[0].text)
                for row, answers in zip(held_out, firsts, strict=True)
                if answers and (answers[0].confidence or 0) >= promise.threshold
            ]
            right = sum(max((f1_score(text, gold) for gold in golds), default=0) >= 0.5 for golds, text in given)
            figures[str(share)] = {"given": len(given), "right": right, "of": len(held_out)}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="indexes are kept here")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    indexes = [options.work / f"{collection}-kb" for collection in COLLECTIONS]
    questions = [load(options.data, *place) for place in zip(COLLECTIONS, indexes, strict=True)]
    figures: dict[str, Any] = {}
    for number, collection in enumerate(COLLECTIONS):
        others = questions[(number + 1) % len(COLLECTIONS)]
        figures[collection] = [measure(indexes[number], questions[number], others, options.work, seed) for seed in range(3)]
        print(collection, figures[collection], flush=True)
    report("confidence/guarantee", figures)


if __name__ == "__main__":
    main()
