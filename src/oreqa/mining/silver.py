"""Silver pairs: retrieved sentences that a classifier predicts to be answers (Yang et al. 2021, section 4.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oreqa.answering.reranking import hit_candidate, probability
from oreqa.arguments import as_path, choice, count, question_list, share
from oreqa.core import MODES, Mode
from oreqa.datasets.load import load_task
from oreqa.datasets.pairs import GOLD, SILVER, Candidate, Pair, pair_row, task_candidates
from oreqa.datasets.reqa import ReqaTask, draw_questions
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.files import need_new, write_jsonl
from oreqa.index.passages import index_folder, index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.graph.precision import used_precision
from oreqa.models.names import CLASSIFIER
from oreqa.parts import WorkPart, as_part, drop_unfinished, shared_rows
from oreqa.progress import Advance, Progress, ignore, no_progress, show
from oreqa.provenance import fingerprint

MIN_PROBABILITY = 0.5
"""Sentences with at least this probability count as answers."""
SCORED_TOGETHER = 64
"""Questions searched and scored together."""


@dataclass(frozen=True, slots=True)
class MinedQuestion:
    """A question to find answers for, and its gold candidates, if any."""

    text: str
    gold: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class SilverPairs:
    """The number of ``questions``, and the ``rows`` of the pair file, gold and silver."""

    questions: int
    rows: list[dict[str, Any]]

    def of_source(self, source: str) -> list[dict[str, Any]]:
        """Return the rows of one source, ``gold`` or ``silver``."""
        return [row for row in self.rows if row["source"] == source]


def mine_silver(
    out: str | Path,
    *,
    data: str | Path | None = None,
    questions: str | Iterable[str] | None = None,
    index: str | Path | None = None,
    classifier: str | Path = DEFAULT_CLASSIFIER,
    k: int = 10,
    mode: Mode = "hybrid",
    min_probability: float = MIN_PROBABILITY,
    split: str = "train",
    held_out: bool = False,
    draw: int | None = None,
    seed: int = 0,
    model: str | Path = DEFAULT_ENCODER,
    device: str = "cpu",
    part: str | None = None,
    progress: Progress = no_progress,
) -> SilverPairs:
    """Write to ``out`` the pairs of a question and a retrieved sentence that the classifier predicts to answer it.

    Either ``data`` names a SQuAD or MRQA file or a BEIR folder, whose gold pairs are also written (``split``, ``held_out``,
    ``draw``, ``seed``, ``index`` and ``model`` as in mine_negatives); or there are ``questions`` without answers and the
    ``index`` to search. Of the ``k`` best sentences, those with at least ``min_probability`` are kept.

    An interrupted run resumes when it is started again. Several processes can share the questions: each mines a
    ``part``, e.g. ``3/8``, without writing ``out``; a run without one collects their rows and mines the missing ones.
    The file equals that of a single run. Raises InputError for conflicting arguments, for data that cannot be read, and if
    ``out`` exists; ModelError for a model that cannot be loaded.
    """
    if (data is None) == (questions is None) or (questions is not None and index is None):
        raise InputError("give either data, or questions and index together")
    if data is None and (split != "train" or held_out or draw is not None or seed or str(model) != DEFAULT_ENCODER):
        raise InputError("split, held_out, draw, seed and model are for data: leave them out with questions and index")
    k, seed, min_probability = count(k, "k"), count(seed, "seed", 0), share(min_probability, "min_probability")
    draw = None if draw is None else count(draw, "draw")
    choice(mode, MODES, "mode")
    chosen = as_part(part)
    out, texts = as_path(out, "out"), [] if questions is None else question_list(questions)
    need_new(out, "mine anew")
    scorer = CrossEncoder(classifier, device=device, kind=CLASSIFIER)
    if data is not None:
        task = load_task(as_path(data, "data"), split, held_out)
        opened = index_passages(index_folder(index, out), task.passages, Settings(model=str(model)), device, progress)
        mined = task_questions(draw_questions(task, draw, seed))
    else:
        assert index is not None
        mined, opened = [MinedQuestion(text) for text in texts], Index.open(index, device)
    first, last = (chosen or WorkPart(1, 1)).span(len(mined), SCORED_TOGETHER)
    with show(progress, "scoring candidates", last - first) as advance:
        rows = score_silver(mined, opened, scorer, out, k, mode, min_probability, advance, device, chosen)
    return SilverPairs(last - first, rows)


def task_questions(task: ReqaTask) -> list[MinedQuestion]:
    """Return a task's questions with their gold candidates."""
    candidates = task_candidates(task)
    return [
        MinedQuestion(question, tuple(candidates[gold] for gold in golds))
        for question, golds in zip(task.questions, task.gold, strict=True)
    ]


def score_silver(
    questions: Sequence[MinedQuestion],
    index: Index,
    classifier: CrossEncoder,
    out: Path,
    k: int = 10,
    mode: Mode = "hybrid",
    min_probability: float = MIN_PROBABILITY,
    advance: Advance = ignore,
    device: str = "cpu",
    part: WorkPart | None = None,
) -> list[dict[str, Any]]:
    """Return gold pairs, and of the ``k`` best sentences of ``index`` those with at least ``min_probability``.

    A silver pair's weight and score are the probability, its rank the retriever's. Gold pairs also have a score, the
    weight 1, and a rank if they were retrieved. Rows are stored next to ``out`` as they come, so that an interrupted run
    resumes; ``out`` is written last, and not for a ``part``. Returns its rows.
    """
    texts = [question.text for question in questions]
    golds = [[candidate.answer for candidate in question.gold] for question in questions]
    decisive = [texts, golds, classifier.fingerprint, index.encoder.fingerprint, index.content_fingerprint]
    decisive += [dict(index.weights("sentence", mode)), used_precision(device, "encoder", "classifier"), k, min_probability]

    def score(begin: int, end: int) -> list[dict[str, Any]]:
        hits_by_question = index.search(texts[begin:end], k, mode=mode, unit="sentence")
        pairs_by_question = [
            _pairs(question, [hit_candidate(hit) for hit in hits])
            for question, hits in zip(questions[begin:end], hits_by_question, strict=True)
        ]
        candidates = [[pair.positive for pair in pairs] for pairs in pairs_by_question]
        logits_by_question = classifier.score(texts[begin:end], candidates)
        rows = []
        for pairs, logits in zip(pairs_by_question, logits_by_question, strict=True):
            scored = [
                replace(pair, score=p, weight=p if pair.source == SILVER else pair.weight)
                for pair, p in zip(pairs, probability(logits).tolist(), strict=True)
            ]
            kept = [pair for pair in scored if pair.source == GOLD or pair.weight >= min_probability]
            rows.append({"pairs": [pair_row(pair) for pair in kept]})
        return rows

    rows = shared_rows(out, part, fingerprint(decisive), len(questions), SCORED_TOGETHER, score, advance)
    pairs = [pair for row in rows for pair in row["pairs"]]
    if part is None:
        write_jsonl(out, pairs)
        drop_unfinished(out)
    return pairs


def _pairs(question: MinedQuestion, retrieved: Sequence[Candidate]) -> list[Pair]:
    """Return gold and retrieved candidates with the retriever's ranks, without retrieved ones that read like the gold."""
    ranks: dict[str, int] = {}
    for rank, candidate in enumerate(retrieved, 1):
        ranks.setdefault(candidate.answer, rank)
    gold = [Pair(question.text, candidate, rank=ranks.get(candidate.answer)) for candidate in question.gold]
    texts = {candidate.answer for candidate in question.gold}
    return gold + [
        Pair(question.text, candidate, source=SILVER, rank=rank)
        for rank, candidate in enumerate(retrieved, 1)
        if candidate.answer not in texts
    ]
