"""Checks every answer's offsets against the documents' texts, for all questions of SQuAD dev.

Run:  python benchmarks/quality/offsets.py --data ../shared/data --work runs/offsets
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from oreqa.answering import Answerer
from oreqa.defaults import DEFAULT_READER
from oreqa.index import Index
from oreqa.index.ingest import index_files
from oreqa.models.reader.reader import Reader

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad, write_paragraph_files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/offsets"))
    options = parser.parse_args()
    paragraphs, folder = squad(options.data), options.work / "texts"
    write_paragraph_files(paragraphs, folder)
    index_files(options.work / "index", [folder])
    # One passage per question: this checks the answers' offsets, not whether they are right.
    answerer = Answerer(Index.open(options.work / "index"), Reader(DEFAULT_READER), passages=1)
    questions = [question.text for paragraph in paragraphs for question in paragraph.questions]
    counts = {"questions": len(questions), "answers": 0, "wrong": 0, "not in their sentence": 0}
    for answers in answerer.ask(questions, 3, threshold=0):
        for answer in answers:
            text = Path(answer.passage.document_key).read_text(encoding="utf-8")
            counts["answers"] += 1
            counts["wrong"] += text[answer.start : answer.end] != answer.text
            counts["not in their sentence"] += not answer.sentence.start <= answer.start < answer.sentence.end
    report("faults/offsets", counts)


if __name__ == "__main__":
    main()
