"""German compounds: questions that split words which Debian's reference writes together, and its headings as questions.

Run:  python benchmarks/quality/compounds.py --work runs/own

The compounds were drawn at random from those that occur once or twice in the reference. About each passage, a question
was written that uses the compound's words apart (`compounds.json`). A section is to be found by its heading, which is
removed from it. BM25 is that of an oreqa index, without and with the parts of compounds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from oreqa.evaluation.metrics import paired_difference
from oreqa.index.bm25 import BM25_PARAMETERS, Bm25
from oreqa.index.compounds import split_compound, vocabulary_parts
from oreqa.index.lexical import Vocabulary, words
from oreqa.index.postings import LivePostings, postings_of

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.debian import fetch

PASSAGE, DEPTH = 100, 100
"""Words of a passage, and the ranks that count."""
Asked = Sequence[tuple[str, Callable[[int], bool]]]
"""Questions, each with a test of whether the passage with a number answers it."""


def sections(work: Path) -> list[tuple[str, str]]:
    """Return the passages of the reference, each with the heading of its section."""
    file = fetch("debian-reference-de", work) / "usr/share/debian-reference/debian-reference.de.txt.gz"
    passages: list[tuple[str, str]] = []
    heading, blocks = "", list[str]()
    for block in re.split(r"\n\s*\n", gzip.decompress(file.read_bytes()).decode()):
        text = " ".join(re.sub(r"[|+=-]{2,}|\|", " ", block).split())
        is_heading = len(text) < 90 and bool(re.match(r"\d+(\.\d+)+\. ", text))
        if blocks and (is_heading or len(" ".join(blocks).split()) > PASSAGE):
            passages.append((heading, " ".join(blocks)))
            blocks = []
        if is_heading:
            heading = text
        elif text:
            blocks.append(text)
    return [*passages, (heading, " ".join(blocks))]


def reciprocal_ranks(questions: Asked, texts: Sequence[str], splits: bool) -> list[float]:
    """Return the reciprocal rank of each question's first right passage; 0 if it is not among the first ``DEPTH``."""
    vocabulary, stems = Vocabulary(), [words(text, "de") for text in texts]
    postings = postings_of((vocabulary.number([w for text in stems for w in text]), np.array([len(text) for text in stems])))
    known, sizes = dict(vocabulary.items()), np.diff(postings.starts).tolist()
    parts = vocabulary_parts({word: sizes[number] for word, number in known.items()}, "de") if splits else {}
    compounds: dict[int, list[int]] = defaultdict(list)
    for word, pair in parts.items():
        for part in pair:
            compounds[known[part]].append(known[word])
    bm25 = Bm25([LivePostings.of(postings)], *BM25_PARAMETERS["passage"], compounds)
    held = {word: bm25.texts_with(number) for word, number in known.items()}
    ranks = []
    for question, is_right in questions:
        terms = words(question, "de")
        for word in terms[:] if splits else ():
            terms += () if word in known else split_compound(word, held, "de") or ()
        scores = bm25.scores(np.array([known[term] for term in terms if term in known], np.int32))
        order = np.argsort(-scores, kind="stable")[:DEPTH]
        ranks.append(next((1 / rank for rank, number in enumerate(order, 1) if is_right(int(number))), 0.0))
    return ranks


def compared(questions: Asked, texts: Sequence[str]) -> dict[str, float]:
    before, after = (reciprocal_ranks(questions, texts, splits) for splits in (False, True))
    means = (round(100 * float(np.mean(ranks)), 1) for ranks in (before, after))
    p = round(paired_difference(before, after).p, 3)
    return {"questions": len(questions), **dict(zip(("without", "with"), means, strict=True)), "p": p}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="packages are kept here")
    passages = sections(parser.parse_args().work)
    whole = [f"{heading} {text}" for heading, text in passages]
    questions: Asked = [
        (question, lambda number, text=text: text in whole[number])  # type: ignore[misc]
        for question, text in json.loads((Path(__file__).parent / "compounds.json").read_text())
    ]
    headings: Asked = [
        (heading.split(" ", 1)[1], lambda number, heading=heading: passages[number][0] == heading)  # type: ignore[misc]
        for heading in sorted({heading for heading, _ in passages if len(heading.split()) > 2})
    ]
    rows = {"compounds": compared(questions, whole), "headings": compared(headings, [text for _, text in passages])}
    report("files/compounds", rows)


if __name__ == "__main__":
    main()
