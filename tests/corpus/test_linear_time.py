"""No text makes reading take more than its size does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from growth import growth

from oreqa.core import Document, Place
from oreqa.corpus.formats.markdown import read_markdown
from oreqa.corpus.splitter import split_passages
from oreqa.text.sentences import split_sentences

pytestmark = pytest.mark.slow

FACTOR = 9
"""Four times the input takes four times as long, not sixteen times."""


@pytest.mark.parametrize(
    ("before", "unit", "after", "size"),
    [
        ("# a", " ", "b", 200_000),
        ("## a ", "# ", "b", 100_000),
        ("---\ntitle: a", " ", "b\n---\n", 200_000),
        ("---\n", "--- x\n", "", 10_000),
        ("a\n", "=", "x", 200_000),
        ("", "`", "", 200_000),
        ("", "# a\n", "", 2_000),
        ("", "`a\nb` ", "", 2_000),
        ("", "[a](b ", "", 5_000),
    ],
)
def test_markdown(before: str, unit: str, after: str, size: int) -> None:
    assert (
        growth(lambda text: read_markdown(text.encode(), Path("a.md")), lambda n: before + unit * n + after, size) < FACTOR
    )


@pytest.mark.parametrize("unit", ["1.\n", "1. ", "你好。", "“Hi. ", "| a |\n", "a. ", "\n", "- ", "(", "e.g. "])
def test_sentences(unit: str) -> None:
    assert growth(split_sentences, lambda n: unit * n, 5_000) < FACTOR


@pytest.mark.parametrize("unit", ["word ", "\n \n", "x", "a.\n\n", "\u200b", "\u200b a"])
def test_passages(unit: str) -> None:
    def cut(text: str) -> None:
        split_passages(Document("d", "t", text), lambda texts: [len(text.split()) for text in texts], 50)

    assert growth(cut, lambda n: unit * n, 4_000) < FACTOR


@pytest.mark.parametrize(
    ("unit", "places", "size"),
    [
        ("a b\n\n", lambda n: tuple(Place(5 * i, "", 2 * i + 1, 7 * i) for i in range(n)), 8_000),
        # Smaller, looking for the place costs too little to be seen.
        pytest.param("word.\n\n", lambda n: (Place(0, "", 1, 0),), 120_000, marks=pytest.mark.system),
    ],
)
def test_places(unit: str, places: Callable[[int], tuple[Place, ...]], size: int) -> None:
    def cut(document: Document) -> None:
        split_passages(document, lambda texts: [len(text) for text in texts], 50)

    assert growth(cut, lambda n: Document("d", "t", unit * n, places=places(n)), size) < FACTOR
