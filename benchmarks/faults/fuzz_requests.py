"""Calls the Python functions with odd arguments: only OreqaError may escape, on one line, and results must be valid.

Run:  python benchmarks/faults/fuzz_requests.py --seconds 60

The script searches an index of part of demo/library, asks it, adds documents to another one, calls the models, and
opens, indexes and loads odd paths. What escapes is printed with the seed that reproduces it.
"""

from __future__ import annotations

import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from oreqa import Answerer, CrossEncoder, Document, Encoder, Index, Reader, Span, index_documents, index_files
from oreqa.core import MODES
from oreqa.errors import OreqaError

sys.path.append(str(Path(__file__).parents[1]))
from support.fuzzing import Trial, fuzz

LIBRARY = Path(__file__).parents[2] / "demo" / "library"
QUESTION = "How many hearts has an octopus?"
PIECES = (
    QUESTION, "what", "a_", "max_connections", "\0", "\ud800", "\u200b", "\u202e", "😀", "e\u0301", "[", "]", "*", "?", "%",
    "_", "\\", '"', "'", ";", "--", "{}", "$.", "\n", "\t", " ", "0", "-1", "9" * 40, "ﬁ", "İ", "日本", "x" * 700, "\x1b[2J",
    "Ａ",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (0, 1, 3, 10, 1000, 10**9, -1, 2.5, True, None, "3", float("nan"))
FIELDS = ("path", "title", "kind", "", "no such", "a\\b", 'a"b', "$.x", "[0]", "a\tb")
SLOWEST = 20.0
"""Seconds that a request may take."""

Request = Callable[[random.Random], object]


def odd_text(rng: random.Random) -> str:
    return "".join(rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 50)) for _ in range(rng.randint(0, 6)))


def odd_number(rng: random.Random) -> Any:
    """Return a number of results, or sometimes something else."""
    return rng.choice((1, 3, 10, rng.choice(NUMBERS)))


def odd(rng: random.Random) -> Any:
    """Return a text, or sometimes something else."""
    others: tuple[Any, ...] = ([odd_text(rng), odd_text(rng)], [], None, 3, b"x", {"a": 1})
    return odd_text(rng) if rng.random() < 0.8 else rng.choice(others)


def odd_path(rng: random.Random, folder: Path) -> Any:
    """Return a path in a folder, or sometimes an invalid path or something else."""
    text = odd_text(rng)
    return rng.choice((folder / text, f"{folder}/{text}", f"no such folder/{text}", folder / "a\0b", "a\0b", odd(rng)))


def odd_where(rng: random.Random) -> Any:
    value: Any = rng.choice((odd_text(rng), rng.choice(NUMBERS), [odd_text(rng)], [], {"a": 1}, "*/[draft]/*", 10**5000))
    fields = rng.choice(({rng.choice(FIELDS): value}, [(rng.choice(FIELDS), value)], {odd_text(rng): value}))
    return rng.choice(((), (), (), (), fields, fields, fields, "kind=x", None))


def odd_field(rng: random.Random, depth: int = 3) -> Any:
    """Return a value for a document's field."""
    if depth and rng.random() < 0.2:
        return rng.choice(([odd_field(rng, depth - 1)], {odd_text(rng): odd_field(rng, depth - 1)}))
    return rng.choice((odd_text(rng), rng.choice(NUMBERS), 10**5000, b"x"))


def odd_document(rng: random.Random) -> Any:
    fields = {rng.choice((*FIELDS, odd_text(rng))): odd_field(rng) for _ in range(rng.randint(0, 3))}
    key, title, text = (odd_text(rng) for _ in range(3))
    return rng.choice((odd(rng), {"id": key, "text": text, **fields}, Document(key, title, text, fields=fields)))


def check_hits(rankings: Any, question: Any, k: int, where: Any) -> None:
    """Raise AssertionError unless rankings have at most k hits, best first, of documents that meet the conditions."""
    conditions = dict(where) if isinstance(where, Mapping | list) else {}
    for ranking in [rankings] if isinstance(question, str) else rankings:
        assert len(ranking) <= k
        assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
        for hit in ranking:
            fields = {**hit.passage.fields, "title": hit.passage.title}
            for name, value in conditions.items():
                if name != "path":
                    assert fields[name] in ([value] if isinstance(value, str) else value)


def requests(folder: Path) -> list[Request]:
    """Return what is called with odd arguments; the index is made in the ``folder``."""
    index_files(folder / "kb", sorted(LIBRARY.iterdir())[:8])
    index, reader, classifier = Index.open(folder / "kb"), Reader("minilm-reader"), CrossEncoder("minilm-classifier")
    answerer, encoder = Answerer(index, reader), Encoder("all-minilm-l6-v2")
    expected = answerer.ask(QUESTION)

    def search(rng: random.Random) -> None:
        mode, unit = rng.choice((*MODES, *MODES, "fuzzy", None)), rng.choice(("sentence", "passage") * 4 + ("word",))
        question, k, where = odd(rng), odd_number(rng), odd_where(rng)
        check_hits(index.search(question, k, mode=mode, unit=unit, where=where), question, k, where)  # type: ignore[call-overload]

    def ask(rng: random.Random) -> None:
        question, k = odd(rng), odd_number(rng)
        threshold: Any = rng.choice((None, 0, 0, 0.5, 2, "x"))
        replies: Any = answerer.ask(question, k, where=odd_where(rng), threshold=threshold)
        for answers in [replies] if isinstance(question, str) else replies:
            assert len(answers) <= k
            for answer in answers:
                begin = answer.passage.start
                assert answer.passage.text[answer.start - begin : answer.end - begin] == answer.text

    def read(rng: random.Random) -> None:
        question, passages = odd(rng), [odd_text(rng) for _ in range(rng.randint(0, 3))]
        spans: Any = reader.read(question, passages, k=odd_number(rng))
        for span in spans if isinstance(question, str) else ():
            assert isinstance(span, Span)
            assert passages[span.passage_number][span.start : span.end] == span.text

    def rank(rng: random.Random) -> None:
        classifier.rank(odd(rng), [odd_text(rng) for _ in range(rng.randint(0, 3))], odd_number(rng))

    def encode(rng: random.Random) -> None:
        encoder.encode(odd(rng))

    def add(rng: random.Random) -> None:
        index_documents(folder / "added", [odd_document(rng) for _ in range(rng.randint(0, 3))])
        with Index.open(folder / "added") as added:
            added.search(QUESTION, 3)

    def open_odd(rng: random.Random) -> None:
        index_path = partial(index_files, folder / "added")
        openings: list[Callable[[Any], object]] = [Index.open, Answerer.load, Encoder, Reader, CrossEncoder, index_path]
        refusals = []
        for opening in openings:
            try:
                opening(odd_path(rng, folder / "odd"))
            except OreqaError as error:
                refusals.append(error)
        raise max(refusals, key=lambda error: str(error).count("\n"))

    def index_odd(rng: random.Random) -> None:
        index_documents(odd_path(rng, folder / "odd"), ["A text."])

    def ask_again(_: random.Random) -> None:
        assert answerer.ask(QUESTION) == expected

    return [search, search, ask, read, rank, encode, add, open_odd, open_odd, index_odd, ask_again]


def prepare(folder: Path) -> Trial:
    os.chdir(folder)  # where odd relative paths lead
    kinds = requests(folder)

    def trial(rng: random.Random, counts: Counter[str]) -> tuple[str, str]:
        request, started, fault = rng.choice(kinds), time.monotonic(), ""
        try:
            request(rng)
        except OreqaError as error:
            counts["refused"] += 1
            if "\n" in str(error) or len(str(error)) > 5000:
                fault = f"no single line: {str(error)[:1000]!r}"
        except Exception:
            fault = traceback.format_exc()
        took = time.monotonic() - started
        return request.__name__, f"it took {took:.0f} s" if took > SLOWEST else fault

    return trial


def main() -> None:
    fuzz(str(__doc__), prepare)


if __name__ == "__main__":
    main()
