"""What `oreqa adapt --marks` gains from 300 simulated marks on MedQuAD, compared with `oreqa adapt` without them.

Run:  nice -n 15 python benchmarks/quality/marks.py --data ../shared/data --work runs/marks [--encoder all-minilm-l6-v2]

The answers to MedQuAD's test questions are indexed, with other answers up to 2,500 (`--documents`). 300 of these
questions are drawn and asked. Each is marked in the document that its authors give as the answer, at the reader's best
answer within that document: "right" if that document answered first anyway, else "corrected". Half of the marked
documents are learned from. Measured is the rank of the right document's first passage by hybrid search, for the marks of
the other half and for all test questions that nobody marked. Both adaptations learn from the same generated questions.
Every stage resumes when the command is run again.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oreqa import Answerer, Document, Index, index_documents
from oreqa.adaptation import AdaptationReport, adapt_index
from oreqa.adaptation.questions import split_marks
from oreqa.answer import Answer
from oreqa.datasets.beir import Beir, load_beir
from oreqa.datasets.mark_examples import place_marks
from oreqa.datasets.marks import Mark, question_id, read_marks, set_mark
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.evaluation.metrics import paired_difference
from oreqa.files import read_json, write_json
from oreqa.index.change_encoder import change_encoder
from oreqa.index.generations import newest_generation

sys.path.append(str(Path(__file__).parents[1]))
from common import report

MARKS, SEED = 300, 0
RANKED, TOGETHER = 100, 50
TIME = "2026-01-01T00:00:00+00:00"


def make_index(folder: Path, data: Beir, encoder: str, documents: int) -> None:
    """Index the answers to the questions, and others, as documents; the field identifies each."""
    if newest_generation(folder) is None:
        right = {document for golds in data.qrels.values() for document in golds}
        others = [entry.id for entry in data.corpus if entry.id not in right]
        kept = {*right, *random.Random(SEED).sample(others, max(0, min(len(others), documents - len(right))))}
        rows = [Document(e.id, e.title, e.text, fields={"answer": e.id}) for e in data.corpus if e.id in kept]
        index_documents(folder, rows, model=encoder)


def simulate(folder: Path, data: Beir) -> None:
    """Mark ``MARKS`` questions; skip those without any answer in their document."""
    if len(read_marks(folder)) >= MARKS:
        return
    drawn = sorted(data.qrels)
    random.Random(SEED).shuffle(drawn)
    with Answerer.load(folder, marks=False) as answerer:
        for query in drawn:
            marked = {mark.id for mark in read_marks(folder)}
            if len(marked) >= MARKS:
                return
            question, gold = data.queries[query], sorted(data.qrels[query])
            if question_id(question) in marked:
                continue
            within = answerer.ask(question, k=1, where={"answer": gold}, threshold=0)
            if within:
                first = answerer.ask(question, k=1, threshold=0)
                is_right = bool(first) and first[0].passage.document_key in gold
                set_mark(folder, mark_of(question, within[0], is_right))


def mark_of(question: str, answer: Answer, is_right: bool) -> Mark:
    passage = answer.passage
    place = passage.document_key, answer.sentence.text, passage.text, passage.title, answer.start - passage.start
    text = passage.text[answer.start - passage.start : answer.end - passage.start]
    return Mark(question_id(question), question, (text,), "right" if is_right else "corrected", TIME, *place)


def ranks(folder: Path, questions: Sequence[str], golds: Sequence[set[str]], kept: Path) -> list[float]:
    """Return each question's reciprocal rank."""
    if not kept.is_file():
        values: list[float] = []
        with Index.open(folder) as index:
            for begin in range(0, len(questions), TOGETHER):
                batch = questions[begin : begin + TOGETHER]
                for hits, gold in zip(index.search(batch, RANKED, unit="passage"), golds[begin:], strict=False):
                    right = [hit.passage.document_key in gold for hit in hits]
                    values.append(1 / (1 + right.index(True)) if any(right) else 0.0)
        write_json(kept, values)
    return list(read_json(kept))


def adapted(folder: Path, with_marks: bool, draw: int) -> AdaptationReport:
    """Adapt an index unless that is done, and return the report. The index then has the trained encoder, better or not."""
    kept = folder / "adapted" / "1" / "report.json"
    if not kept.is_file():
        adapt_index(
            folder,
            marks=with_marks,
            anyway=True,
            draw=draw,
            seed=SEED,
            announce=lambda estimate: print(estimate, flush=True),
        )
    run_report = AdaptationReport.load(kept)
    with Index.open(folder) as index:
        has_trained = index.settings.model == f"{run_report.folder}/retriever"
    if not has_trained:
        change_encoder(folder, f"{run_report.folder}/retriever")
    return run_report


def measure(data: Beir, work: Path, encoder: str, documents: int, draw: int) -> dict[str, Any]:
    base, plain, marked = (work / name for name in ("base", "plain", "marked"))
    make_index(base, data, encoder, documents)
    simulate(base, data)
    marks = read_marks(base)
    if not plain.is_dir():
        shutil.copytree(base, plain)
    reports = {"plain": adapted(plain, False, draw)}
    if not marked.is_dir():
        shutil.copytree(base, work / "copy", dirs_exist_ok=True)
        generated = work / "copy" / "adapted" / "1"  # as an interrupted adaptation leaves them
        generated.mkdir(parents=True, exist_ok=True)
        for name in ("questions.jsonl", "started.json"):
            shutil.copy(plain / "adapted" / "1" / name, generated)
        (work / "copy").rename(marked)
    reports["marked"] = adapted(marked, True, draw)
    with Index.open(base) as index:
        learned, measured = split_marks(place_marks(marks, index.passages()))
        counts = index.counts()
    judged = {data.queries[query]: set(golds) for query, golds in data.qrels.items()}
    names = {question_id(text) for text in (mark.question for mark in marks)}
    question_sets = {
        "marks of the other half": [pair.question for pair in measured],
        "test questions that nobody marked": [text for text in judged if question_id(text) not in names],
    }
    figures: dict[str, Any] = {
        "encoder": encoder,
        "index": counts,
        "marks": {"learned": len(learned), "measured": len(measured), "right": sum(m.verdict == "right" for m in marks)},
        "reports": {name: asdict(run_report) for name, run_report in reports.items()},
    }
    for number, (name, questions) in enumerate(question_sets.items()):
        golds = [judged[question] for question in questions]
        values = {folder.name: ranks(folder, questions, golds, work / f"ranks-{number}-{folder.name}.json")
                  for folder in (base, plain, marked)}  # fmt: skip
        row: dict[str, Any] = {key: round(100 * sum(ranked) / len(ranked), 2) for key, ranked in values.items()}
        for first, second in (("base", "plain"), ("base", "marked"), ("plain", "marked")):
            row[f"{first} to {second}"] = asdict(paired_difference(values[first], values[second], SEED))
        figures[name] = {"questions": len(questions), **row}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="indexes and adaptations are kept here")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--documents", type=int, default=2500, help="answers to index")
    parser.add_argument("--draw", type=int, default=350, help="passages to generate questions about")
    options = parser.parse_args()
    work = options.work / options.encoder.replace("/", "-")
    work.mkdir(parents=True, exist_ok=True)
    data = load_beir(options.data / "retrieval" / "medquad", "test")
    report(
        f"adapt/marks-{options.encoder.replace('/', '-')}",
        measure(data, work, options.encoder, options.documents, options.draw),
    )


if __name__ == "__main__":
    main()
