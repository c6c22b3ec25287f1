"""Texts that look like answers but are not: sentences for the classifier (Yang et al. 2021, section 4.1), and passages
retrieved by BM25 for the reader."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import as_path, count
from oreqa.core import Mode
from oreqa.datasets.load import load_task
from oreqa.datasets.pairs import Candidate, Pair, pair_row, task_candidates
from oreqa.datasets.reqa import ReqaTask, draw_questions
from oreqa.defaults import DEFAULT_ENCODER, LANGUAGE
from oreqa.files import need_new, write_jsonl
from oreqa.index.best import best_sentences
from oreqa.index.bm25 import BM25_PARAMETERS, Bm25
from oreqa.index.lexical import Vocabulary, words
from oreqa.index.passages import index_folder, index_passages, sentence_rows
from oreqa.index.postings import LivePostings, postings_of
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.progress import Advance, Progress, ignore, no_progress, show

NEGATIVES_TOP_K = 10
"""Negatives are drawn from this many of a retriever's best sentences."""


def mine_negatives(
    data: str | Path,
    out: str | Path,
    *,
    split: str = "train",
    held_out: bool = False,
    draw: int | None = None,
    index: str | Path | None = None,
    model: str | Path = DEFAULT_ENCODER,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> list[Pair]:
    """Write to ``out`` every gold pair of a SQuAD or MRQA file, or a BEIR folder's ``split``, with up to three negatives.

    Held-out articles are excluded, or with ``held_out`` the only ones used; ``draw`` questions are drawn by ``seed``. The
    index of the data is kept in ``index``, else next to ``out``. Returns the pairs. Raises InputError for data that cannot
    be read or have no question with an answer, and if ``out`` exists; ModelError for a model that cannot be loaded.
    """
    data, out, seed = as_path(data, "data"), as_path(out, "out"), count(seed, "seed", 0)
    draw = None if draw is None else count(draw, "draw")
    need_new(out, "draw anew")
    task = load_task(data, split, held_out)
    opened = index_passages(index_folder(index, out), task.passages, Settings(model=str(model)), device, progress)
    task = draw_questions(task, draw, seed)
    with show(progress, "drawing negatives", len(task.questions)) as advance:
        pairs = draw_negatives(task, opened, seed, advance)
    write_jsonl(out, map(pair_row, pairs))
    return pairs


def draw_negatives(task: ReqaTask, index: Index, seed: int = 0, advance: Advance = ignore) -> list[Pair]:
    """Return every gold pair of a task with up to three negatives, drawn by ``seed``.

    They are one of BM25's ten best sentences, one of the ten nearest vectors, and one of the gold's own passage (of its
    document, if the passage has no other). ``index`` has the task's passages. A sentence that is gold for the question, or
    reads like one that is, is never drawn.
    """
    candidates = task_candidates(task)
    passages = [number for number, passage in enumerate(task.passages) for _ in passage.sentences]
    documents = [passage.title or number for number, passage in enumerate(task.passages) for _ in passage.sentences]
    same_passage: dict[object, list[int]] = defaultdict(list)
    same_document: dict[object, list[int]] = defaultdict(list)
    for place in range(len(candidates)):
        same_passage[passages[place]].append(place)
        same_document[documents[place]].append(place)
    lists = [best_candidates(task, index, mode, NEGATIVES_TOP_K) for mode in ("sparse", "dense")]
    rng = random.Random(seed)
    pairs = []
    for question, golds, sparse, dense in zip(task.questions, task.gold, *lists, strict=True):
        answers = {candidates[gold].answer for gold in golds}
        for gold in golds:
            negatives: dict[Candidate, None] = {}
            for sources in ([sparse], [dense], [same_passage[passages[gold]], same_document[documents[gold]]]):
                usable = ([candidates[i] for i in places if candidates[i].answer not in answers] for places in sources)
                if choices := next(filter(None, usable), None):
                    negatives[rng.choice(choices)] = None
            pairs.append(Pair(question, candidates[gold], negatives=tuple(negatives)))
        advance(1)
    return pairs


def best_candidates(task: ReqaTask, index: Index, mode: Mode, depth: int) -> Iterator[NDArray[np.intp]]:
    """Yield, for each question of a task, the numbers of its ``depth`` best candidates, best first.

    Raises InputError if ``index`` does not have the task's passages.
    """
    rows = sentence_rows(index, task.passages)
    for scores in index.score_all(task.questions, mode):
        yield best_sentences(scores[rows], depth)


def bm25_passages(questions: Sequence[str], passages: Sequence[str], depth: int) -> Iterator[NDArray[np.intp]]:
    """Yield, for each question, the numbers of its ``depth`` best passages by BM25, best first, ties in order.

    Passages without a word of the question are omitted.
    """
    vocabulary = Vocabulary()
    rows = [vocabulary.number(words(passage, LANGUAGE)) for passage in passages]
    lengths = np.array([len(row) for row in rows], np.int64)
    terms = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    bm25 = Bm25([LivePostings.of(postings_of((terms, lengths)))], *BM25_PARAMETERS["passage"])
    for question in questions:
        scores = bm25.scores(np.unique(vocabulary.number(words(question, LANGUAGE))))
        best = best_sentences(scores, depth)
        yield best[scores[best] > 0]
