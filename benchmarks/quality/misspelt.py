"""Asks questions with a misspelt word, as they are and with the word replaced by the nearest word of the index.

Run:  python benchmarks/quality/misspelt.py --data ../shared/data --work runs/own --name after

The questions are people's, those about lists (both halves of each), and 200 of Natural Questions over all its
paragraphs. In each, a word in lower case is misspelt: a letter is left out, doubled or replaced, or two are swapped.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from oreqa import Answerer, index_files
from oreqa.datasets.paragraphs import load_squad, whole_passages
from oreqa.datasets.questions import OpenQuestion, load_question_list
from oreqa.index.passages import index_passages
from oreqa.text.stop_words import STOP_WORDS

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import judged
from support.own_collections import COLLECTIONS, LISTS, lay_out

QUESTIONS = Path(__file__).parent / "questions"
_WORD = re.compile(r"(?<![\w.@/-])[a-z]{5,}(?![\w@/-])")


def misspell(text: str, rng: random.Random) -> str | None:
    """Return the text with one misspelt word; None if it has no suitable word."""
    words = [match for match in _WORD.finditer(text) if match.group() not in STOP_WORDS]
    if not words:
        return None
    match = rng.choice(words)
    word, place = match.group(), rng.randrange(1, len(match.group()) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    wrong = rng.choice((after, letter * 2 + after, rng.choice("abcdeinorst") + after, after[0] + letter + after[1:]))
    return None if before + wrong == word else text[: match.start()] + before + wrong + text[match.end() :]


def sets(data: Path, work: Path) -> Iterator[tuple[str, Path, list[OpenQuestion]]]:
    """Yield the name of each set, its index and its questions."""
    places = work / "indexes" / "misspelt"
    for name, collections, front in (("people's", COLLECTIONS, ""), ("lists", LISTS, "lists-")):
        files = [QUESTIONS / f"{front}{half}.jsonl" for half in ("tuning", "reporting")]
        every = [question for file in files for question in load_question_list(file)]
        for collection in collections:
            index_files(places / collection, [lay_out(collection, work)])
            yield name, places / collection, [question for question in every if question.collection == collection]
    paragraphs = load_squad(data / "extractive" / "nq-short-sample.json.gz")
    index_passages(places / "nq", whole_passages(paragraphs))
    nq_questions = [
        OpenQuestion(question.id, question.text, tuple(gold.text for gold in question.answers))
        for paragraph in paragraphs
        for question in paragraph.questions
    ]
    yield "nq", places / "nq", random.Random(0).sample(nq_questions, 200)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--name", required=True, help="of results/documents/misspelt-NAME.json")
    options = parser.parse_args()
    rng, counts = random.Random(3), Counter[str]()
    for name, place, questions in sets(options.data, options.work):
        wrong = [replace(q, text=text) for q in questions if (text := misspell(q.text, rng))]
        with Answerer.load(place) as answerer:
            respelt = answerer.reply([question.text for question in wrong], k=1)
            with patch("oreqa.answering.answerer.misspelt", lambda *_: {}):
                as_asked = answerer.reply([question.text for question in wrong], k=1)
        for way, replies in (("as asked", as_asked), ("nearest word", respelt)):
            for question, reply in zip(wrong, replies, strict=True):
                counts[f"{name}, {way}: {judged(question, reply.answers[0].text if reply.answers else '')}"] += 1
    for row, count in sorted(counts.items()):
        print(f"{row:<40}{count:>5}")
    report(f"documents/misspelt-{options.name}", dict(counts))


if __name__ == "__main__":
    main()
