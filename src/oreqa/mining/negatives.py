"""Sentences that look like answers and are none: the negatives of the classifier (Yang et al. 2021, section 4.1)."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from oreqa.core import Mode
from oreqa.datasets.pairs import Candidate, Pair, task_candidates
from oreqa.datasets.reqa import ReqaTask
from oreqa.index.fusion import SENTENCE_WEIGHTS
from oreqa.index.passages import sentence_rows
from oreqa.index.scoring import best_sentences
from oreqa.index.search import Index

DEPTH = 10
"""Negatives are drawn from so many of a retriever's best sentences."""


def best_candidates(task: ReqaTask, index: Index, mode: Mode, depth: int) -> Iterator[NDArray[np.intp]]:
    """For each question of a task the numbers of its ``depth`` best candidates, best first.

    Raises InputError if ``index`` does not hold the task's passages.
    """
    rows = sentence_rows(index, task.passages)
    for scores in index.score_all(task.questions, SENTENCE_WEIGHTS.only(mode)):
        yield best_sentences(scores[rows], depth)


def mine_negatives(task: ReqaTask, index: Index, seed: int = 0, progress: Callable[[int], None] | None = None) -> list[Pair]:
    """Every gold pair of a task with up to three negatives, drawn by ``seed``: one of BM25's ten best sentences, one of the
    ten nearest vectors, and one of the gold's own passage (of its document, where the passage has no other).

    ``index`` holds the task's passages. A sentence that is gold for the question, or reads like one that is, is never drawn.
    """
    candidates = task_candidates(task)
    passages = [number for number, passage in enumerate(task.passages) for _ in passage.sentences]
    documents = [passage.title or number for number, passage in enumerate(task.passages) for _ in passage.sentences]
    beside: dict[object, list[int]] = defaultdict(list)
    around: dict[object, list[int]] = defaultdict(list)
    for place in range(len(candidates)):
        beside[passages[place]].append(place)
        around[documents[place]].append(place)
    lists = [best_candidates(task, index, mode, DEPTH) for mode in ("sparse", "dense")]
    rng = random.Random(seed)
    pairs = []
    for question, golds, sparse, dense in zip(task.questions, task.gold, *lists, strict=True):
        taken = {candidates[gold].answer for gold in golds}
        for gold in golds:
            drawn: dict[Candidate, None] = {}
            for sources in ([sparse], [dense], [beside[passages[gold]], around[documents[gold]]]):
                free = ([candidates[i] for i in places if candidates[i].answer not in taken] for places in sources)
                if found := next(filter(None, free), None):
                    drawn[rng.choice(found)] = None
            pairs.append(Pair(question, candidates[gold], negatives=tuple(drawn)))
        if progress:
            progress(1)
    return pairs
