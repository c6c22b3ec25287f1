"""What candidates cost: questions asked of many real texts, of every sentence and of candidates' alone.

Run:  python benchmarks/quality/candidates.py --data ../shared/data --work runs/candidates

SQuAD dev's paragraphs are indexed with sentences of Wikipedia and lines about packages beside them, of which more and more
are taken away. At each size questions of SQuAD dev, and those about the sentences, are asked both ways for ten sentences:
which share of the best ones stays, and how high the first of the question's own text stands.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from oreqa.core import Document, Hit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import load_beir
from oreqa.index import scoring
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from support.paragraphs import real_documents

WAYS = {"every sentence": 1 << 40, "candidates": 0}
"""The most passages of which a search scores every sentence."""

SPLITS = {"qed-nq-sentence": "train", "selqa": "dev"}
"""The sets whose questions are asked, beside SQuAD dev's."""

Asked = list[tuple[str, set[str]]]
"""Questions with the texts that answer them."""


def questions(data: Path, documents: list[Document], count: int) -> dict[str, Asked]:
    """Up to ``count`` questions of each set, evenly spread, of those that these documents answer."""
    sets: dict[str, Asked] = {"SQuAD dev": [(q.text, {p.text}) for p in squad(data) for q in p.questions]}
    for name, split in SPLITS.items():
        task = load_beir(data / "retrieval" / name, split)
        texts = {entry.id: entry.text for entry in task.corpus}
        sets[name] = [
            (task.queries[q], {texts[d] for d, grade in golds.items() if grade}) for q, golds in task.qrels.items()
        ]
    held = {document.text for document in documents}
    answered = {name: [row for row in rows if row[1] & held] for name, rows in sets.items()}
    return {name: rows[:: -(-len(rows) // count)] for name, rows in answered.items() if rows}


def ask(index: Index, question: str) -> dict[str, list[Hit]]:
    """The ten best sentences each way."""
    hits = {}
    for way, most in WAYS.items():
        vars(scoring)["EXHAUSTIVE"] = most
        hits[way] = index.search(question, 10)
    return hits


def measure(index: Index, questions_and_golds: Asked) -> dict[str, object]:
    """The figures of one index and one set's questions."""
    rows = []
    index.search(questions_and_golds[0][0], 10)
    for question, golds in questions_and_golds:
        hits = ask(index, question)
        every, best = ([hit.sentence_id for hit in hits[way]] for way in WAYS)
        rank = {way: next((1 / n for n, hit in enumerate(hits[way], 1) if hit.passage.text in golds), 0.0) for way in WAYS}
        rows.append((every[0] == best[0], len(set(every) & set(best)) / len(every), rank))
    return {
        "questions": len(rows),
        "same best": round(100 * float(np.mean([row[0] for row in rows])), 2),
        "same best ten": round(100 * float(np.mean([row[1] for row in rows])), 2),
        "mrr@10": {way: round(100 * float(np.mean([row[2][way] for row in rows])), 2) for way in WAYS},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/candidates"))
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 12_000])
    parser.add_argument("--questions", type=int, default=500)
    options = parser.parse_args()
    every = real_documents(options.data)
    rows = []
    for size in options.sizes:
        passages = [paragraph_passage(document) for document in every[:size]]
        with index_passages(options.work / "index", passages, Settings()) as index:
            sets = questions(options.data, every[:size], options.questions)
            rows.append({**index.counts(), **{name: measure(index, pairs) for name, pairs in sets.items()}})
        print(rows[-1], flush=True)
    report("capacity/candidates", {"collections": rows})


if __name__ == "__main__":
    main()
