"""Lexical search in writing without spaces: characters, pairs of neighbours, and both, as in oreqa.

Run:  python benchmarks/quality/unspaced.py --work runs/own --name after

A manual page in Chinese or Japanese (Debian's manpages-zh and manpages-ja) is to be found by its NAME section, which
is removed from it; a GTK message in Thai by six of its characters. BM25 is that of an oreqa index.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import random
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from oreqa.index.bm25 import Bm25
from oreqa.index.lexical import Vocabulary, words
from oreqa.index.postings import LivePostings, postings_of

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.debian import fetch

UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e4f"
DEPTH, PIECE, LONGEST = 10, 6, 3000
_NAME = re.compile(r'^\.S[Hh] +"?(?:NAME|名称|名字|名前|名 前)[^\n]*\n(.+?)^\.S[Hh]', re.MULTILINE | re.DOTALL)
_ROFF = re.compile(r'^[.\'](?:\\".*$|[A-Z]{1,2}\b)|\\f.|\\[-&]|\\\(..', re.MULTILINE)

WAYS: dict[str, Callable[[str], list[str]]] = {
    "characters": lambda text: re.findall(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+", text.lower()),
    "pairs": lambda text: [a + b for run in re.findall(rf"[{UNSPACED}]+", text) for a, b in pairwise(run)],
    "oreqa": lambda text: words(text, "xx"),
}


def pages(package: str, folder: str, work: Path) -> list[tuple[str, str]]:
    """Return the manual pages of a language that have enough text, each with its description in the NAME section."""
    said_and_text = []
    for file in sorted((fetch(package, work) / "usr/share/man" / folder).rglob("*.gz")):
        source = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
        if match := _NAME.search(source):
            said = re.sub(r"[A-Za-z0-9_().-]+", " ", _ROFF.sub("", match[1])).strip()
            body = _ROFF.sub("", source[match.end() :])[:LONGEST]
            if len(re.findall(f"[{UNSPACED}]", said)) > 3 and len(re.findall(f"[{UNSPACED}]", body)) > 200:
                said_and_text.append((said, body))
    return said_and_text


def messages(work: Path) -> list[tuple[str, str]]:
    """Return the longer messages of GTK in Thai, each with some of its characters."""
    rng, found = random.Random(0), []
    for name in ("gtk30", "gtk30-properties"):
        with (fetch("libgtk-3-common", work) / f"usr/share/locale/th/LC_MESSAGES/{name}.mo").open("rb") as file:
            texts = gettext.GNUTranslations(file)._catalog.values()  # type: ignore[attr-defined]
        for text in texts:
            runs = re.findall(rf"[{UNSPACED}]{{{2 * PIECE},}}", text) if isinstance(text, str) else []
            if runs:
                begin = rng.randrange(len(runs[0]) - PIECE)
                found.append((runs[0][begin : begin + PIECE], text))
    return found


def reciprocal_rank(queries: list[list[str]], texts: list[list[str]]) -> float:
    """Return the mean reciprocal rank, in percent, of each query's own text among the first ``DEPTH``."""
    vocabulary = Vocabulary()
    terms = vocabulary.number([word for text in texts for word in text])
    bm25 = Bm25([LivePostings.of(postings_of((terms, np.array([len(text) for text in texts]))))], 0.9, 0.4)
    known, total = dict(vocabulary.items()), 0.0
    for place, query in enumerate(queries):
        scores = bm25.scores(np.array([known[word] for word in query if word in known], np.int32))
        rank = 1 + int((scores > scores[place]).sum())
        total += 1 / rank if scores[place] > 0 and rank <= DEPTH else 0.0
    return round(100 * total / len(queries), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True, help="packages are kept here")
    parser.add_argument("--name", required=True, help="of results/files/unspaced-NAME.json")
    options = parser.parse_args()
    sets = {
        "Chinese": pages("manpages-zh", "zh_CN", options.work),
        "Japanese": pages("manpages-ja", "ja", options.work),
        "Thai": messages(options.work),
    }
    rows: dict[str, dict[str, float]] = {}
    for language, pairs in sets.items():
        rows[language] = {"texts": len(pairs)}
        for way, cut in WAYS.items():
            queries, texts = ([cut(pair[side]) for pair in pairs] for side in (0, 1))
            rows[language][way] = reciprocal_rank(queries, texts)
        print(language, rows[language])
    report(f"files/unspaced-{options.name}", rows)


if __name__ == "__main__":
    main()
