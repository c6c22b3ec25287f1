"""What a dual encoder learns from: a question, its answer, and further candidates drawn for it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.datasets.pairs import GOLD, Candidate, Pair
from oreqa.training.batches import cut, full_ones_shuffled
from oreqa.training.retriever.recipe import Silver

PassageKey = tuple[str, str]
"""A passage: its text and title."""

PASSAGE_STRETCH = 16
"""Passages per example of a batch that are sorted by length at a time."""


@dataclass(frozen=True, slots=True)
class RetrieverExample:
    """A question with the sentence that answers it, further candidates, and its weight."""

    question: str
    positive: Candidate
    weight: float
    others: tuple[Candidate, ...]
    """Hard negatives; with soft labels, candidates that the classifier scored."""
    scores: tuple[float, ...]
    """With soft labels, the classifier's probability of the positive and of each of the others; otherwise empty."""

    name: str = ""
    """The name shared by forms of one passage."""

    @property
    def source(self) -> PassageKey:
        """The text and title of the positive's passage."""
        return self.positive.context, self.positive.head

    @property
    def passage(self) -> str | PassageKey:
        """The key shared by examples of one passage."""
        return self.name or self.source


class PairPool:
    """The pairs of a training run by question: which are positives, and what else is known about their questions."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        *,
        silver: Silver,
        min_probability: float,
        weight_power: float,
        negatives: int,
        soft_labels: bool,
    ) -> None:
        """Take keys of ``RetrieverRecipe``; ``soft_labels`` is true for that loss."""
        self._pairs, self._silver, self._min_probability = pairs, silver, min_probability
        self._weight_power, self._negatives, self._soft_labels = weight_power, negatives, soft_labels
        self.answers: dict[str, set[str]] = defaultdict(set)
        """Texts that answer a question: gold, or scored at least ``min_probability``. They are never its negatives."""
        self._scored: dict[str, list[Pair]] = defaultdict(list)
        for pair in pairs:
            p = pair_probability(pair)
            if pair.source == GOLD or (p is not None and p >= min_probability):
                self.answers[pair.question].add(pair.positive.answer)
            if p is not None:
                self._scored[pair.question].append(pair)
        self._with_gold = {pair.question for pair in pairs if pair.source == GOLD}

    def draw(self, rng: random.Random) -> list[RetrieverExample]:
        """Return the examples of one epoch, in the order of the pairs, drawing ``negatives`` others for each."""
        return [self._example(pair, rng) for pair in self._pairs if self._is_positive(pair)]

    def _is_positive(self, pair: Pair) -> bool:
        if pair.source == GOLD:
            return True
        p = pair_probability(pair)
        if p is None or p < self._min_probability or self._silver == "none":
            return False
        return self._silver == "positives" or self._stands_for_gold(pair)

    def _stands_for_gold(self, pair: Pair) -> bool:
        """Return whether a question has no gold pair, and this is its silver pair with the highest probability."""
        best = max(self._scored[pair.question], key=lambda row: pair_probability(row) or 0.0, default=None)
        return pair.question not in self._with_gold and best is pair

    def _example(self, pair: Pair, rng: random.Random) -> RetrieverExample:
        p = pair_probability(pair)
        weight = pair.weight if pair.source == GOLD else pair.weight**self._weight_power
        rivals = [row for row in self._scored[pair.question] if row.positive != pair.positive]
        if self._soft_labels and p is not None:
            rivals = rng.sample(rivals, min(self._negatives, len(rivals)))
            scores = (p, *(pair_probability(row) or 0.0 for row in rivals))
            others = tuple(row.positive for row in rivals)
            return RetrieverExample(pair.question, pair.positive, weight, others, scores, pair.passage)
        unlikely = [row for row in rivals if row.source != GOLD and (pair_probability(row) or 0.0) < self._min_probability]
        negatives = [*pair.negatives, *(row.positive for row in unlikely)]
        negatives = rng.sample(negatives, min(self._negatives, len(negatives)))
        return RetrieverExample(pair.question, pair.positive, weight, tuple(negatives), (), pair.passage)


def pair_probability(pair: Pair) -> float | None:
    """Return a classifier's probability of the pair: its score, or the weight of a silver pair without one."""
    return pair.weight if pair.score is None and pair.source != GOLD else pair.score


def by_passage(examples: Sequence[RetrieverExample], batch: int, rng: random.Random) -> list[list[RetrieverExample]]:
    """Return a retriever's batches, with the questions of a passage together, so that it is encoded once for them.

    Passages are in random order among others of similar length. Incomplete batches come last.
    """
    groups: dict[str, list[RetrieverExample]] = defaultdict(list)
    for example in examples:
        groups[example.positive.context].append(example)
    passages = list(groups.values())
    rng.shuffle(passages)
    stretch, batches = PASSAGE_STRETCH * batch, []
    for begin in range(0, len(passages), stretch):
        alike = sorted(passages[begin : begin + stretch], key=lambda group: len(group[0].positive.context))
        batches += cut([example for group in alike for example in rng.sample(group, len(group))], batch)
    return full_ones_shuffled(batches, batch, rng)
