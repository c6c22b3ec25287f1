"""Answers that consist of several spans: all spans, compared with the best one alone.

Run:  python benchmarks/quality/several.py --data ../shared/data/blocks/multi-span-train.json.gz --name train
      python benchmarks/quality/several.py --work runs/own --questions several-tuning --name manuals-tuning

With --data, a file in SQuAD's layout with `spans` instead of `answers`, each question is read in its own paragraph.
With --questions, the manuals are fetched, indexed and asked as a user asks them. The measures are MultiSpanQA's
(benchmarks/support/multi_span.py), for the questions with one span and for those with several.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oreqa.answer import Answer
from oreqa.answering import Answerer
from oreqa.answering.several import several_ranges
from oreqa.files import read_jsonl
from oreqa.models.reader.reader import Reader
from oreqa.provenance import commit, data_hash
from oreqa.text.several import asks_for_several, requested_number

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, index
from support.multi_span import Counts, counts, f1_difference, f1_scores
from support.own_collections import lay_out

QUESTIONS = Path(__file__).parent / "questions"
SPANS = 10


def read_paragraphs(file: Path, reader: Reader) -> list[tuple[list[str], list[str], list[str]]]:
    """Return, for each question of a file, its best span, all spans, and the right ones."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        articles = json.load(lines)["data"]
    rows = [
        (article.get("title") or "", paragraph["context"], question)
        for article in articles
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    read = reader.readings([q["question"] for _, _, q in rows], [[(title, text)] for title, text, _ in rows], SPANS)
    replies = []
    for (_, text, question), reading in zip(rows, read, strict=True):
        best, every = [], []
        if reading.spans:
            first, query = reading.spans[0], question["question"]
            best = every = [first.text]
            if asks_for_several(query):
                ranges = several_ranges(text, (first.start, first.end), reading.spans, requested_number(query))
                every = [text[start:end] for start, end in ranges]
        replies.append((best, every, [span["text"] for span in question["spans"]]))
    return replies


def ask_manuals(work: Path, file: Path) -> list[tuple[list[str], list[str], list[str]]]:
    """Return the same for questions about manuals, from the first answer, however unlikely."""
    rows = [row for _, row in read_jsonl(file)]
    replies = []
    for name in sorted({row["collection"] for row in rows}):
        questions, place = [row for row in rows if row["collection"] == name], work / "indexes" / "several" / name
        index(OURS, lay_out(name, work), place)
        with Answerer.load(place) as answerer:
            given = answerer.ask([row["question"] for row in questions], threshold=0)
        replies += [(*_texts(answers), row["answers"]) for row, answers in zip(questions, given, strict=True)]
    return replies


def _texts(answers: Sequence[Answer]) -> tuple[list[str], list[str]]:
    if not answers:
        return [], []
    return [answers[0].text], [span.text for span in answers[0].spans] or [answers[0].text]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a gzipped file with spans, of which the paragraphs are read")
    parser.add_argument("--questions", choices=("several-tuning", "several-reporting"), help="questions about manuals")
    parser.add_argument("--work", type=Path, default=Path("runs/own"), help="documents and indexes are kept here")
    parser.add_argument("--reader", default="minilm-reader", help="with --data")
    parser.add_argument("--name", required=True, help="of results/blocks/several-NAME.json")
    options = parser.parse_args()
    file = options.data or QUESTIONS / f"{options.questions}.jsonl"
    replies = read_paragraphs(file, Reader(options.reader)) if options.data else ask_manuals(options.work, file)
    kinds = {"one": [r for r in replies if len(r[2]) == 1], "several": [r for r in replies if len(r[2]) > 1], "all": replies}
    outcome: dict[str, Any] = {"commit": commit(OURS), "data_sha256": data_hash([file])}
    for kind, rows in kinds.items():
        if rows:
            best, every = ([counts(row[place], row[2]) for row in rows] for place in (0, 1))
            outcome[kind] = _compared(best, every)
            for system in ("best", "every"):
                print(f"{kind:8} {len(rows):5} {system:6} {outcome[kind][system]}")
            print(f"{kind:8} {len(rows):5} {'gain':6} {outcome[kind]['gain']}")
    report(f"blocks/several-{options.name}", outcome)


def _compared(best: Sequence[Counts], every: Sequence[Counts]) -> dict[str, Any]:
    gain = f1_difference(best, every)
    return {"questions": len(best), "best": f1_scores(best), "every": f1_scores(every), "gain": gain}


if __name__ == "__main__":
    main()
