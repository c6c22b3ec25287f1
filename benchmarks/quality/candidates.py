"""What candidates cost: questions of SQuAD dev asked of many real paragraphs, of every sentence and of candidates' alone.

Run:  python benchmarks/quality/candidates.py --data ../shared/data --work runs/candidates

SQuAD dev's paragraphs are indexed with those of other sets beside them, of which more and more are taken away. At each
size every tenth question is asked both ways for ten sentences: which share of the best ones stays, and how often the best
sentence stands in the question's own paragraph.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from oreqa.core import Document, Hit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.index import scoring
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from support.paragraphs import paragraph_texts

WAYS = {"every sentence": 1 << 40, "candidates": 0}
"""The most passages of which a search scores every sentence."""


def ask(index: Index, question: str) -> dict[str, list[Hit]]:
    """The ten best sentences each way."""
    hits = {}
    for way, most in WAYS.items():
        vars(scoring)["EXHAUSTIVE"] = most
        hits[way] = index.search(question, 10)
    return hits


def measure(index: Index, asked: list[tuple[str, str]]) -> dict[str, object]:
    """The figures of one index, for questions with the texts of their paragraphs."""
    rows = []
    index.search(asked[0][0], 10)
    for question, text in asked:
        hits = ask(index, question)
        every, best = ([hit.sentence_id for hit in hits[way]] for way in WAYS)
        right = {way: hits[way][0].passage.text == text for way in WAYS}
        rows.append((every[0] == best[0], len(set(every) & set(best)) / len(every), right))
    return {
        **index.counts(),
        "questions": len(rows),
        "same best": round(100 * float(np.mean([row[0] for row in rows])), 2),
        "same best ten": round(100 * float(np.mean([row[1] for row in rows])), 2),
        "own paragraph is best": {way: round(100 * float(np.mean([row[2][way] for row in rows])), 2) for way in WAYS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/candidates"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[22_800, 12_000, 6_000, 3_000])
    options = parser.parse_args()
    texts = paragraph_texts(options.data, max(options.sizes))
    asked = [(question.text, p.text) for p in squad(options.data) for question in p.questions if p.text in set(texts[:2000])]
    rows = []
    for size in options.sizes:
        passages = [paragraph_passage(Document(f"{n}", "", text)) for n, text in enumerate(texts[:size])]
        with index_passages(options.work / "index", passages, Settings()) as index:
            rows.append(measure(index, asked[::10]))
        print(rows[-1], flush=True)
    report("speed/candidates", {"collections": rows})


if __name__ == "__main__":
    main()
