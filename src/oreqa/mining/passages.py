"""BM25's passages for each question: distant positives if they hold an answer, hard negatives if not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.index.lexical import Vocabulary, bm25_scores, build_bm25, load_bm25, words
from oreqa.index.publish import PASSAGE_BM25
from oreqa.index.scoring import best_sentences


def bm25_passages(
    questions: Sequence[str], passages: Sequence[str], depth: int, language: str = "en"
) -> Iterator[NDArray[np.intp]]:
    """For each question the numbers of its ``depth`` best passages by BM25, best first and equal ones in their order;
    passages without a word of the question are left out."""
    vocabulary = Vocabulary()
    rows = [vocabulary.number(words(passage, language)) for passage in passages]
    lengths = np.array([len(row) for row in rows], np.int64)
    terms = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    passage_words = len(vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        build_bm25(terms, lengths, passage_words, Path(folder), *PASSAGE_BM25)
        retriever = load_bm25(Path(folder))
        for question in questions:
            ids = np.unique(vocabulary.number(words(question, language)))
            ids = ids[ids < passage_words]
            if not len(ids):
                yield np.zeros(0, np.intp)
                continue
            scores = bm25_scores(retriever, ids)
            best = best_sentences(scores, depth)
            yield best[scores[best] > 0]
