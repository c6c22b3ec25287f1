"""What an index holds, to compare two of them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.index.search import Index


def content(folder: Path) -> list[tuple[Any, ...]]:
    """Everything that a search can return, with vectors, without the row numbers."""
    index = Index.open(folder)
    sentences, passages = (index.snapshot().engine.every().all_vectors(unit) for unit in ("sentence", "passage"))
    rows: list[tuple[Any, ...]] = []
    place = 0
    for number, passage in enumerate(index.passages()):
        for sentence in passage.sentences:
            vectors = np.stack([passages[number], sentences[place]]).tobytes()
            rows.append((passage.document_key, passage.title, str(passage.fields), passage.heading, passage.text, passage.start,
                         sentence.start, sentence.end, vectors))  # fmt: skip
            place += 1
    return sorted(rows, key=lambda row: (str(row[0]), row[5], row[6]))


def assert_same(a: Path, b: Path) -> None:
    """Two indexes of the same content."""
    assert_same_content(content(a), content(b))


def assert_same_content(first: list[tuple[Any, ...]], second: list[tuple[Any, ...]]) -> None:
    """The same content; vectors up to the last bits, which depend on what was in a batch together."""
    assert [row[:-1] for row in first] == [row[:-1] for row in second]
    for x, y in zip(first, second, strict=True):
        np.testing.assert_allclose(*(np.frombuffer(row[-1], np.float32) for row in (x, y)), atol=5e-3)


def old(folder: Path) -> None:
    """Files that were written a while ago, so that their time alone tells that they did not change."""
    for file in folder.rglob("*"):
        os.utime(file, (time.time() - 100, time.time() - 100))
