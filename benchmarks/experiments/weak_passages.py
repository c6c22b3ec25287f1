"""How often a paragraph found by answer match is the annotated one: the weak supervision of a question generator.

Run:  OREQA_PRECISION=f32 python benchmarks/experiments/weak_passages.py --data ../shared/data --work runs/weak

The questions are those of the held-out articles of QED's Natural Questions; the index contains these articles'
paragraphs. `oreqa mine passages` pairs each question with the first retrieved passage that contains an answer. Counted are
how often that is the annotated paragraph, how often the answer's first place there is the annotated one, and how often
another passage contains an answer, which would be used in a collection without the annotated paragraph.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import Pair
from oreqa.datasets.paragraphs import placed_answers, split_articles, whole_passages
from oreqa.datasets.questions import OpenQuestion
from oreqa.defaults import DEFAULT_ENCODER
from oreqa.index.passages import index_passages
from oreqa.index.store import Settings
from oreqa.mining.passages import first_match
from oreqa.mining.predictions import search_texts

sys.path.append(str(Path(__file__).parents[1]))
from common import report

NQ = "extractive/qed-nq-train.json.gz"
DEPTH = 20

Place = tuple[str, int, int]
"""A text, and the position of an answer in it."""


def percents(matched: Iterable[tuple[Place, Pair | None, Pair | None]]) -> dict[str, float]:
    """Return percentages of questions, each given with its annotated place, its pair, and its pair from another passage."""
    counts: Counter[str] = Counter()
    for (text, start, end), pair, elsewhere in matched:
        counts["questions"] += 1
        counts["elsewhere"] += elsewhere is not None
        if pair is not None:
            counts["a passage"] += 1
            is_annotated = pair.positive.context == text
            counts["the annotated one"] += is_annotated
            counts["at the annotated place"] += is_annotated and (pair.positive.start, pair.positive.end) == (start, end)
    questions = counts.pop("questions")
    return {"questions": questions} | {name: round(100 * count / questions, 2) for name, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    paragraphs = split_articles(load_paragraphs(options.data / NQ))[1]
    asked = [
        (
            (paragraph.text, *places[0]),
            OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers)),
        )
        for paragraph in paragraphs
        for question in paragraph.questions
        if (places := placed_answers(paragraph.text, question))
    ]
    with index_passages(options.work / "index", whole_passages(paragraphs), Settings(model=DEFAULT_ENCODER)) as index:
        retrieved = list(search_texts(index, [question.text for _, question in asked], DEPTH, "hybrid"))
    matched = []
    for (place, question), texts in zip(asked, retrieved, strict=True):
        elsewhere = [(title, text) for title, text in texts if text != place[0]]
        matched.append((place, first_match(question, texts), first_match(question, elsewhere)))
    report("generator/weak_passages", {"passages": len(paragraphs), "depth": DEPTH, "percent": percents(matched)})


if __name__ == "__main__":
    main()
