"""Whole answers: the steps, lists, commands and reasons of questions/howto-*.jsonl, as shown by `oreqa ask`.

Run:  python benchmarks/quality/blocks.py --work runs/own --questions howto-tuning --readers mpnet-reader minilm-reader

Each collection is fetched and indexed separately, and each reader answers its questions from five passages. The first
answer is compared with the question's block, sentence by sentence, in four forms: the block or text that `ask` shows, the
block even where text is shown, the answer's sentence, and its passage. A sentence shown is right if the block or its lead-in
contains it, or if it contains a sentence of them; a sentence of the block is found if what is shown contains it. "All
steps" means that every part of the block is shown. List marks, case and punctuation are ignored.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.answer import Answer
from oreqa.answering import Answerer
from oreqa.files import read_jsonl
from oreqa.provenance import commit, data_hash
from oreqa.text.sentences import split_sentences

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, index
from support.own_collections import lay_out

QUESTIONS = Path(__file__).parent / "questions"
_WORD = re.compile(r"\w+")
_MARK = re.compile(r"\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")

MEASURES = ("f1", "precision", "recall", "all")

SHOWN: dict[str, Callable[[Answer], str]] = {
    "shown": lambda answer: answer.block.text if answer.block and answer.form == "block" else answer.text,
    "block": lambda answer: answer.block.text if answer.block else answer.text,
    "sentence": lambda answer: answer.sentence.text,
    "passage": lambda answer: answer.passage.text,
}
"""The forms of the first answer that are compared; "block" is its block even where its text is shown."""


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _sentences(*texts: str) -> Iterator[str]:
    """Yield the words of each sentence."""
    for text in texts:
        for start, end in split_sentences(text):
            if words := _words(_MARK.sub("", text[start:end], count=1)).strip():
                yield f" {words} "


def score(text: str, lead: str, parts: Sequence[str]) -> dict[str, float]:
    """Return precision, recall and F1 of a text's sentences against a block, and whether all its parts are there."""
    required, accepted = list(_sentences(*parts)), [*_sentences(lead), *_sentences(*parts)]
    whole, given = _words(" ".join((lead, *parts))), list(_sentences(text))
    right = [s in whole or any(other in s for other in accepted if other.count(" ") > 3) for s in given]
    shown, steps = _words(text), [words for part in parts if (words := _words(part)).strip()]
    precision, recall = (float(np.mean(values)) if values else 0.0 for values in (right, [s in shown for s in required]))
    f1 = 2 * precision * recall / (precision + recall) if precision and recall else 0.0
    return {"f1": f1, "precision": precision, "recall": recall, "all": float(all(s in shown for s in steps))}


def means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each measure in percent."""
    return {name: round(100 * float(np.mean([row[name] for row in rows])), 1) for name in rows[0]}


def measure(work: Path, rows: Sequence[dict[str, Any]], reader: str) -> dict[str, Any]:
    """Return the measures of a reader's first answers."""
    answers: dict[str, list[Answer]] = {}
    for name in sorted({row["collection"] for row in rows}):
        selected = [row for row in rows if row["collection"] == name]
        with Answerer.load(work / "indexes" / "blocks" / name, reader=reader) as answerer:
            replies = answerer.ask([row["question"] for row in selected], threshold=0)
        answers |= {row["id"]: given for row, given in zip(selected, replies, strict=True)}
    outcome: dict[str, Any] = {"questions": len(rows)}
    for what, text in SHOWN.items():
        scores = [
            score(text(answers[row["id"]][0]) if answers[row["id"]] else "", row.get("lead", ""), row["block"])
            for row in rows
        ]
        kinds = sorted({row["kind"] for row in rows})
        by_kind = {kind: means([s for row, s in zip(rows, scores, strict=True) if row["kind"] == kind]) for kind in kinds}
        outcome[what] = {**means(scores), "by": by_kind}
    firsts = [given[0] for given in answers.values() if given]
    outcome["as_block"] = round(100 * sum(answer.form == "block" for answer in firsts) / len(rows), 1)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--questions", choices=sorted(file.stem for file in QUESTIONS.glob("*.jsonl")), required=True)
    parser.add_argument("--readers", nargs="+", required=True)
    options = parser.parse_args()
    file = QUESTIONS / f"{options.questions}.jsonl"
    rows = [row for _, row in read_jsonl(file) if row.get("block")]
    for name in sorted({row["collection"] for row in rows}):
        index(OURS, lay_out(name, options.work), options.work / "indexes" / "blocks" / name)
    readers = {Path(reader).name: measure(options.work, rows, reader) for reader in options.readers}
    report(f"blocks/{options.questions}", {"commit": commit(OURS), "data_sha256": data_hash([file]), "readers": readers})
    for name, outcome in readers.items():
        for what in SHOWN:
            print(f"{name:14}{what:10}" + "".join(f"{key:>11} {outcome[what][key]:5.1f}" for key in MEASURES))


if __name__ == "__main__":
    main()
