"""Retrieval scores, added up by weights, and the best of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import Conditions, choice
from oreqa.arrays import Flags, Floats, Rows
from oreqa.core import UNITS, Hit, Mode, Unit
from oreqa.errors import InputError
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.snapshot import Snapshot

EXHAUSTIVE = 6_000
"""Passages up to which a search scores every sentence, and not those of candidates alone."""

PASSAGES_A_CANDIDATE, CANDIDATES = 30, 1_000
"""Each score gives a search one of so many passages as candidates, whose sentences are scored in full; at most so many."""

ScoreWeights = Mapping[str, float]
"""Weights of retrieval scores by their names; a score without one takes no part.

A sentence's score is the weighted sum of its scores and its passage's; a passage's is that of its best sentence.
"""


def plain_weights(scores: Mapping[str, RetrievalScore], snapshot: Snapshot | None = None) -> ScoreWeights:
    """The weights where none were fitted: each score counts about as much as any other.

    With a ``snapshot`` scores of another scale than usual, as inner products of vectors that are not normalised, do, too.
    """
    return {
        name: score.plain_weight / (score.scale(snapshot) if score.scale and snapshot else 1.0)
        for name, score in scores.items()
    }


def check_weights(weights: Mapping[Unit, ScoreWeights], scores: Mapping[str, RetrievalScore]) -> None:
    """Raise InputError for weights of a unit or a score that does not exist, and for a weight that is not finite."""
    for unit, by_name in weights.items():
        choice(unit, UNITS, "unit")
        for name, weight in by_name.items():
            choice(name, scores, "retrieval score")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight!r}; it must be a finite number")
        mode_weights(by_name, "hybrid", scores)


def mode_weights(weights: ScoreWeights, mode: Mode, scores: Mapping[str, RetrievalScore]) -> ScoreWeights:
    """The weights of the scores that ``mode`` uses, in the order of ``scores``; weights of 0 are left out.

    Raises InputError for a name that is no score, and if no score is left.
    """
    if unknown := sorted(weights.keys() - scores.keys()):
        raise InputError(f"there is no retrieval score {unknown[0]!r}: choose {', '.join(scores)}")
    used = {
        name: weights[name]
        for name, score in scores.items()
        if weights.get(name) and (mode == "hybrid" or score.mode == mode)
    }
    if not used:
        raise InputError(f"no retrieval score of the mode {mode} has a weight")
    return used


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """One question's scores by their names: arrays over sentences, or over the passages that they stand in.

    ``rows`` are the sentences' rows in the snapshot, in rising order; ``owner[i]`` is the place of sentence ``i``'s passage
    in the arrays of passages. ``units`` says which arrays those are; ``bounds`` are numbers of the question itself.
    """

    rows: Rows
    owner: NDArray[np.integer]
    units: Mapping[str, Unit]
    scores: Mapping[str, Floats]
    bounds: Mapping[str, float] = field(default_factory=dict)

    def total(self, weights: ScoreWeights) -> Floats:
        """The weighted sum of the scores for every sentence."""
        sums: dict[Unit, Floats] = {}
        for name, scores in self.scores.items():
            weighted, unit = np.float32(weights[name]) * scores, self.units[name]
            if unit in sums:
                sums[unit] += weighted
            else:
                sums[unit] = weighted
        of_sentences = sums.get("sentence", np.zeros(len(self.owner), np.float32))
        return of_sentences + sums["passage"][self.owner] if "passage" in sums else of_sentences

    def by_sentence(self, name: str) -> Floats:
        """The score ``name`` of every sentence; that of its passage, if it is a score of passages."""
        return self.scores[name] if self.units[name] == "sentence" else self.scores[name][self.owner]

    def at(self, place: int) -> dict[str, float]:
        """The raw scores of the sentence at ``place``."""
        owner = self.owner[place]
        scores = {name: float(s[place if self.units[name] == "sentence" else owner]) for name, s in self.scores.items()}
        return {**scores, **self.bounds}


def best_hits(
    questions: Questions,
    scores: Mapping[str, RetrievalScore],
    weights: ScoreWeights,
    k: int,
    mode: Mode,
    unit: Unit,
    where: Conditions,
) -> list[list[Hit]]:
    """The ``k`` best hits of each question in documents that fulfil ``where``, best first."""
    snapshot = questions.snapshot
    with snapshot.reading():
        allowed = snapshot.allowed(where)
        if len(snapshot.passage_ids) <= EXHAUSTIVE:
            scored = exhaustive_scores(questions, scores)
        else:
            scored = candidate_scores(questions, scores, k, allowed)
        rankings: list[list[tuple[int, float, dict[str, float]]]] = []
        for number, of_question in enumerate(scored):
            _check_possible(of_question.scores, scores, questions, number)
            total = of_question.total(weights)
            if not np.isfinite(total).all():
                raise ValueError("a score is not a number")
            if allowed is not None:
                total[~allowed[of_question.rows]] = -np.inf
            if mode == "sparse":
                total[total == 0] = -np.inf
            places = best_passages(total, of_question.owner, k) if unit == "passage" else best_sentences(total, k)
            rankings.append([(int(of_question.rows[i]), float(total[i]), of_question.at(i)) for i in places])
        if any(score.mode == "dense" for score in scores.values()):
            rows = {row for ranking in rankings for row, *_ in ranking}
            snapshot.check_vectors(np.array(sorted(rows), np.intp))
        return _hits(snapshot, rankings)


def _check_possible(
    arrays: Mapping[str, Floats], scores: Mapping[str, RetrievalScore], questions: Questions, number: int
) -> None:
    """Doubt the files if sound ones cannot give these scores of a question."""
    for name, score in scores.items():
        if len(values := arrays[name]) and score.limits is not None:
            lowest, highest = score.limits(questions, number)
            if not (lowest <= values.min() and values.max() <= highest):  # also where one is no number
                questions.snapshot.doubt()


def _hits(snapshot: Snapshot, rankings: Sequence[Sequence[tuple[int, float, dict[str, float]]]]) -> list[list[Hit]]:
    """The hits of each question, given as rows of sentences, totals and scores."""
    ids = {int(snapshot.passage_ids[snapshot.sentence_rows[row]]) for ranking in rankings for row, *_ in ranking}
    passages = snapshot.passages(ids)
    hits_by_question = []
    for ranking in rankings:
        hits = []
        for row, total, scores in ranking:
            number, sentence = int(snapshot.passage_ids[snapshot.sentence_rows[row]]), int(snapshot.sentence_ids[row])
            passage, sentences = passages[number]
            hits.append(Hit(total, passage, sentences[sentence], number, sentence, scores))
        hits_by_question.append(hits)
    return hits_by_question


def exhaustive_scores(questions: Questions, scores: Mapping[str, RetrievalScore]) -> Iterator[QuestionScores]:
    """Every sentence scored by each of ``scores``, question by question."""
    snapshot = questions.snapshot
    rows = np.arange(len(snapshot.sentence_ids))
    units = {name: score.unit for name, score in scores.items()}
    if snapshot.empty:
        nothing = dict.fromkeys(scores, np.zeros(0, np.float32))
        yield from repeat(QuestionScores(rows, snapshot.sentence_rows, units, nothing), len(questions.texts))
        return
    arrays, bounds = _scored(questions, scores), _bounds(questions, scores)
    for by_name, of_question in zip(arrays, bounds, strict=True):
        yield QuestionScores(rows, snapshot.sentence_rows, units, by_name, of_question)


def candidate_scores(
    questions: Questions, scores: Mapping[str, RetrievalScore], k: int, allowed: Flags | None
) -> Iterator[QuestionScores]:
    """The sentences of candidates, each scored exactly by every one of ``scores``, question by question.

    Candidates are the best passages, and ``k`` at least, by each score that is asked for every unit.
    """
    snapshot = questions.snapshot
    units = {name: score.unit for name, score in scores.items()}
    of_rows = {name: score.score_rows for name, score in scores.items() if score.finder and score.score_rows}
    whole = {name: score for name, score in scores.items() if name not in of_rows}
    finders = {f"candidates of {name}": finder for name in of_rows if (finder := scores[name].finder) is not None}
    whole |= {name: finder for name, finder in finders.items() if finder not in whole.values()}
    count = max(k, min(CANDIDATES, len(snapshot.passage_ids) // PASSAGES_A_CANDIDATE))
    streams = zip(_scored(questions, whole), _bounds(questions, scores), strict=True)
    for number, (arrays, bounds) in enumerate(streams):
        _check_possible(arrays, whole, questions, number)
        best = [_best_passages(arrays[name], score, snapshot, allowed, count) for name, score in whole.items()]
        passages = np.unique(np.concatenate(best))
        starts, ends = snapshot.sentence_starts[passages], snapshot.sentence_starts[passages + 1]
        owner = np.repeat(np.arange(len(passages)), ends - starts)
        rows = np.arange(len(owner)) + np.repeat(ends - np.cumsum(ends - starts), ends - starts)
        exact = {}
        for name, unit in units.items():
            places = rows if unit == "sentence" else passages
            exact[name] = of_rows[name](questions, number, places) if name in of_rows else arrays[name][places]
        yield QuestionScores(rows, owner, units, exact, bounds)


def _best_passages(values: Floats, score: RetrievalScore, snapshot: Snapshot, allowed: Flags | None, count: int) -> Rows:
    """The rows of the passages that are best by a score, or whose best sentence is."""
    if score.mode == "sparse":
        values = np.where(values == 0, -np.inf, values)
    if score.unit == "sentence":
        of_sentences = values if allowed is None else np.where(allowed, values, -np.inf)
        best: Rows = snapshot.sentence_rows[best_passages(of_sentences, snapshot.sentence_rows, count)].astype(np.intp)
        return best
    if allowed is not None:
        of_allowed = np.full(len(values), -np.inf, np.float32)
        rows = snapshot.sentence_rows[allowed]
        of_allowed[rows] = values[rows]
        values = of_allowed
    return best_sentences(values, count)


def _scored(questions: Questions, scores: Mapping[str, RetrievalScore]) -> Iterator[dict[str, Floats]]:
    """Each score's array over its units, by name, question by question."""
    counts = {name: len(questions.snapshot.ids(score.unit)) for name, score in scores.items()}
    streams = {name: score.score(questions) for name, score in scores.items()}
    for _ in questions.texts:
        arrays = {name: np.asarray(next(stream), np.float32) for name, stream in streams.items()}
        for name, array in arrays.items():
            if array.shape != (counts[name],):
                raise ValueError(
                    f"the score {name} has the shape {array.shape}; there are {counts[name]} {scores[name].unit}s"
                )
        yield arrays


def _bounds(questions: Questions, scores: Mapping[str, RetrievalScore]) -> Iterator[dict[str, float]]:
    streams = {score.bound[0]: score.bound[1](questions) for score in scores.values() if score.bound}
    for _ in questions.texts:
        yield {name: next(stream) for name, stream in streams.items()}


def best_sentences(total: Floats, k: int) -> Rows:
    """Rows of the ``k`` highest scores, best first; equal ones in their order, -inf left out."""
    if k < len(total):
        limit = np.partition(total, len(total) - k)[len(total) - k]
        places = np.flatnonzero((total >= limit) & (total > -np.inf))
    else:
        places = np.flatnonzero(total > -np.inf)
    return places[np.argsort(-total[places], kind="stable")][:k]


def best_passages(total: Floats, owner: NDArray[np.integer], k: int) -> list[int]:
    """Rows of the best sentence of each of the ``k`` best passages, best first."""
    if not len(total):
        return []
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    ends = np.r_[starts[1:], len(owner)]
    passages = best_sentences(np.maximum.reduceat(total, starts), k)
    return [int(starts[p] + np.argmax(total[starts[p] : ends[p]])) for p in passages]
