"""Adds up weighted retrieval scores and selects the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import Conditions, choice
from oreqa.arrays import Floats, Ids
from oreqa.core import UNITS, Hit, Mode, Unit
from oreqa.errors import InputError
from oreqa.index.best import best_passages, best_sentences
from oreqa.index.engines.engine import Scorable
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.snapshot import Snapshot

EXHAUSTIVE = 6_000
"""Passages up to which a search scores every sentence rather than only those of candidates."""

PASSAGES_A_CANDIDATE, CANDIDATES = 30, 1_000
"""Vectors and words each select one in this many passages as a candidate, whose sentences are all scored; at most the second
number."""

ScoreWeights = Mapping[str, float]
"""Weights of retrieval scores by name; a score without a weight is not used.

A sentence's score is the weighted sum of its scores and its passage's; a passage's is that of its best sentence.
"""


def plain_weights(scores: Mapping[str, RetrievalScore], snapshot: Snapshot | None = None) -> ScoreWeights:
    """Return default weights, under which all scores count about equally.

    A ``snapshot`` makes this hold for scores of an unusual scale, too, such as inner products of vectors not normalised.
    """
    return {
        name: score.plain_weight / (score.scale(snapshot) if score.scale and snapshot else 1.0)
        for name, score in scores.items()
    }


def check_weights(weights: Mapping[Unit, ScoreWeights], scores: Mapping[str, RetrievalScore]) -> None:
    """Raise InputError for weights of a unit or score that does not exist, and for weights that are not finite."""
    for unit, by_name in weights.items():
        choice(unit, UNITS, "unit")
        for name, weight in by_name.items():
            choice(name, scores, "retrieval score")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise InputError(f"the weight of {name} is {weight!r}; it must be a finite number")
        mode_weights(by_name, "hybrid", scores)


def mode_weights(weights: ScoreWeights, mode: Mode, scores: Mapping[str, RetrievalScore]) -> ScoreWeights:
    """Return the weights of the scores that ``mode`` uses, in the order of ``scores``, without weights of 0.

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
    """One question's scores by name: arrays over sentences, or over the passages that contain them.

    ``owner[i]`` is the place of sentence ``i``'s passage in the passage arrays. ``units`` says which kind each array is;
    ``bounds`` are numbers of the question itself.
    """

    owner: NDArray[np.integer]
    units: Mapping[str, Unit]
    scores: Mapping[str, Floats]
    bounds: Mapping[str, float] = field(default_factory=dict)

    def total(self, weights: ScoreWeights) -> Floats:
        """Return the weighted sum of the scores for every sentence."""
        sums: dict[Unit, Floats] = {}
        for name, scores in self.scores.items():
            weighted, unit = np.float32(weights[name]) * scores, self.units[name]
            if unit in sums:
                sums[unit] += weighted
            else:
                sums[unit] = weighted
        sentence_scores = sums.get("sentence", np.zeros(len(self.owner), np.float32))
        return sentence_scores + sums["passage"][self.owner] if "passage" in sums else sentence_scores

    def by_sentence(self, name: str) -> Floats:
        """Return the score ``name`` of every sentence; that of its passage if it is a passage score."""
        return self.scores[name] if self.units[name] == "sentence" else self.scores[name][self.owner]

    def at(self, place: int) -> dict[str, float]:
        """Return the raw scores of the sentence at ``place``."""
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
    """Return the ``k`` best hits of each question in documents that fulfil ``where``, best first."""
    snapshot = questions.snapshot
    with snapshot.reading():
        allowed = snapshot.allowed(where)
        scored: Iterator[tuple[Scorable, QuestionScores]]
        if snapshot.settings.engine is None and snapshot.engine.counts["passage"] <= EXHAUSTIVE:
            scored = zip(repeat(questions.passages), exhaustive_scores(questions, scores), strict=False)
        else:
            scored = candidate_scores(questions, scores, k, allowed)
        rankings: list[list[_Ranked]] = []
        for passages, question_scores in scored:
            total = question_scores.total(weights)
            if not np.isfinite(total).all():
                raise ValueError("a score is not a number")
            if allowed is not None:
                total[~passages.allowed(allowed)] = -np.inf
            if mode == "sparse":
                total[total == 0] = -np.inf
            places = best_passages(total, question_scores.owner, k) if unit == "passage" else best_sentences(total, k)
            if any(score.mode == "dense" for score in scores.values()):
                passages.check_vectors(np.sort(np.array(places, np.intp)))
            owners = passages.passage_ids[passages.sentence_rows[places]].tolist()
            ids = passages.sentence_ids[places].tolist()
            ranked = zip(owners, ids, places, strict=True)
            rankings.append([_Ranked(owner, id_, float(total[i]), question_scores.at(i)) for owner, id_, i in ranked])
        return _hits(snapshot, rankings)


class _Ranked(NamedTuple):
    """The id of a sentence and of its passage, the total and the scores."""

    passage: int
    sentence: int
    total: float
    scores: dict[str, float]


def _check_possible(
    arrays: Mapping[str, Floats], scores: Mapping[str, RetrievalScore], questions: Questions, number: int
) -> None:
    """Have the files verified if undamaged ones cannot give these scores."""
    for name, score in scores.items():
        if len(values := arrays[name]) and score.limits is not None:
            lowest, highest = score.limits(questions, number)
            if not (lowest <= values.min() and values.max() <= highest):  # also true if one is NaN
                questions.passages.doubt()


def _hits(snapshot: Snapshot, rankings: Sequence[Sequence[_Ranked]]) -> list[list[Hit]]:
    """Return the hits of each question."""
    passages = snapshot.passages({ranked.passage for ranking in rankings for ranked in ranking})
    hits_by_question = []
    for ranking in rankings:
        hits = []
        for number, sentence, total, scores in ranking:
            passage, sentences = passages[number]
            hits.append(Hit(total, passage, sentences[sentence], number, sentence, scores))
        hits_by_question.append(hits)
    return hits_by_question


def exhaustive_scores(questions: Questions, scores: Mapping[str, RetrievalScore]) -> Iterator[QuestionScores]:
    """Yield the scores of every sentence of the passages to search, by each of ``scores``, for each question."""
    owner = questions.passages.sentence_rows
    units = {name: score.unit for name, score in scores.items()}
    if not len(owner):
        nothing = dict.fromkeys(scores, np.zeros(0, np.float32))
        yield from repeat(QuestionScores(owner, units, nothing), len(questions.texts))
        return
    arrays, bounds = _scored(questions, scores), _bounds(questions, scores)
    for number, (by_name, question_bounds) in enumerate(zip(arrays, bounds, strict=True)):
        _check_possible(by_name, scores, questions, number)
        yield QuestionScores(owner, units, by_name, question_bounds)


def candidate_scores(
    questions: Questions, scores: Mapping[str, RetrievalScore], k: int, allowed: Ids | None
) -> Iterator[tuple[Scorable, QuestionScores]]:
    """Yield each question's candidates, and the scores of all of their sentences, by each of ``scores``.

    Candidates are the best passages, ``k`` or more, by vector and by BM25, or by the one of them that the scores use.
    """
    engine, modes = questions.snapshot.engine, {score.mode for score in scores.values()}
    vectors = questions.vectors if "dense" in modes else None
    words = [numbers for numbers, _ in questions.words] if "sparse" in modes else None
    count = max(k, min(CANDIDATES, engine.counts["passage"] // PASSAGES_A_CANDIDATE))
    for number, passages in enumerate(engine.candidates(vectors, words, count, allowed)):
        (scored,) = exhaustive_scores(questions.one(number, passages), scores)
        yield passages, scored


def _scored(questions: Questions, scores: Mapping[str, RetrievalScore]) -> Iterator[dict[str, Floats]]:
    """Yield each score's array over its units, by name, for each question."""
    counts = {name: len(questions.passages.ids(score.unit)) for name, score in scores.items()}
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
