"""Batches of the dual encoder: questions, the passages of their answers read once each, and who answers what."""

from __future__ import annotations

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oreqa.corpus.sentences import split_sentences
from oreqa.datasets.pairs import GOLD, Candidate, Pair
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.inputs import EncoderInput, EncoderInputs, PassageInput, input_arrays
from oreqa.training.recipes import RetrieverRecipe

Source = tuple[str, str]
"""A passage: its text and title."""

MARGIN = 1e-4
"""Probabilities are kept so far from 0 and 1 when they are turned into logits."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the sentence that answers it, others that were scored for it, and how much it counts."""

    question: str
    positive: Candidate
    weight: float
    others: tuple[Candidate, ...]
    scores: tuple[float, ...]
    """The classifier's probability of the positive and of each of the others; empty if it has none."""


class PairMaker:
    """Turns pairs into batches for one encoder.

    ``known`` holds for every question the answers that are known to be right: gold ones, and mined ones with a probability
    of at least ``recipe.least``.
    """

    def __init__(self, folder: EncoderFolder, recipe: RetrieverRecipe, pairs: Sequence[Pair]) -> None:
        self._inputs, self._recipe, self._late = EncoderInputs(folder), recipe, folder.context == "late_chunking"
        self._known: dict[str, set[int]] = defaultdict(set)
        self._mined: dict[str, list[Pair]] = defaultdict(list)
        for pair in pairs:
            p = _probability(pair)
            if pair.source == GOLD or (p is not None and p >= recipe.least):
                self._known[pair.question].add(_number(pair.positive.answer))
            if p is not None:
                self._mined[pair.question].append(pair)
        self._answered = {pair.question for pair in pairs if pair.source == GOLD}
        self._spans: dict[Source, list[tuple[int, int]]] = {}
        for source, candidates in _by_passage(pairs).items():
            spans = dict.fromkeys(map(_span, candidates))
            if self._late:  # all its sentences are candidates, in the order of the text, as a long passage is read in runs
                sentences = [] if (0, len(source[0])) in spans else split_sentences(source[0])
                self._spans[source] = sorted({*sentences, *spans}, key=lambda span: (span[0], -span[1]))
            else:
                self._spans[source] = list(spans)
        self._passages: dict[Source, list[PassageInput]] = {}

    def examples(self, pairs: Sequence[Pair], rng: random.Random) -> list[Example]:
        """What is learned from. ``recipe.mined`` says what mined pairs are used for."""
        recipe, made = self._recipe, []
        for pair in pairs:
            silver, p = pair.source != GOLD, _probability(pair)
            if silver and (p is None or p < recipe.least):
                continue
            if silver and recipe.mined != "positives" and not (recipe.mined == "soft" and self._stands_for_gold(pair)):
                continue
            rows = [row for row in self._mined[pair.question] if row.positive != pair.positive]
            others = list(pair.negatives)
            scores: tuple[float, ...] = ()
            if recipe.mined == "soft" and p is not None:
                drawn = rng.sample(rows, min(recipe.negatives, len(rows)))
                others = [row.positive for row in drawn]
                scores = (p, *(_probability(row) or 0.0 for row in drawn))
            else:
                others += [row.positive for row in rows if row.source != GOLD and (_probability(row) or 0.0) < recipe.least]
                others = rng.sample(others, min(recipe.negatives, len(others)))
            weight = pair.weight**recipe.weight_power if silver else pair.weight
            made.append(Example(pair.question, pair.positive, weight, tuple(others), scores))
        return made

    def _stands_for_gold(self, pair: Pair) -> bool:
        """Whether a question has no gold, and this is the mined pair of the highest probability."""
        rows = self._mined[pair.question]
        likeliest = max(rows, key=lambda row: _probability(row) or 0.0, default=None)
        return pair.question not in self._answered and likeliest is pair

    def ordered(self, pairs: Sequence[Pair], epochs: int) -> list[Example]:
        """All examples of a run in the order in which they are seen: those of a passage together, passages at random.

        Passages of like length stand near each other, so that little is computed on padding.
        """
        rng = random.Random(self._recipe.seed)
        batch = self._recipe.optimiser.batch
        ordered: list[Example] = []
        for _ in range(epochs):
            groups: dict[str, list[Example]] = defaultdict(list)
            for example in self.examples(pairs, rng):
                groups[example.positive.context].append(example)
            contexts = list(groups.values())
            rng.shuffle(contexts)
            stretch, epoch = 16 * batch, []
            for begin in range(0, len(contexts), stretch):
                near = sorted(contexts[begin : begin + stretch], key=lambda group: len(group[0].positive.context))
                flat = [example for group in near for example in rng.sample(group, len(group))]
                epoch += [flat[first : first + batch] for first in range(0, len(flat), batch)]
            full = [found for found in epoch if len(found) == batch]
            rng.shuffle(full)
            ordered += [example for found in full for example in found]
            ordered += [example for found in epoch if len(found) < batch for example in found]
        return ordered

    def collate(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Tensors of a batch: the inputs of questions and of passages, and which of their vectors are candidates.

        ``rows`` and ``outputs`` (``[C]``) say where a candidate's vector stands, ``answers`` (``[C]``) number its text;
        ``positives``, ``weights`` (``[Q]``) and ``known`` (``[Q, K]``, -1 where there are fewer) belong to the questions;
        ``listed`` and ``teacher`` (``[Q, L]``) are the candidates that a classifier has scored, and its logits.
        """
        wanted: dict[Source, set[tuple[int, int]]] = defaultdict(set)
        for example in examples:
            for candidate in (example.positive, *example.others):
                wanted[candidate.context, candidate.title].add(_span(candidate))
        items: list[EncoderInput] = []
        rows: list[int] = []
        outputs: list[int] = []
        answers: list[int] = []
        places: dict[tuple[Source, tuple[int, int]], int] = {}
        for source, needed in wanted.items():
            spans = self._spans[source]
            for part in self._passage(source):
                sentences = range(part.first, part.first + len(part.tokens.ranges) - 1)
                if not self._late and not any(spans[k] in needed for k in sentences):
                    continue
                for output, k in enumerate(sentences, 1):
                    places[source, spans[k]] = len(rows)
                    rows.append(len(items))
                    outputs.append(output)
                    answers.append(_number(source[0][slice(*spans[k])]))
                items.append(part.tokens)

        # Sorted by length: what is encoded together is padded little.
        order = sorted(range(len(items)), key=lambda row: len(items[row].ids))
        moved = {row: place for place, row in enumerate(order)}

        def place(candidate: Candidate) -> int:
            return places[(candidate.context, candidate.title), _span(candidate)]

        known = [sorted(self._known[example.question]) for example in examples]
        listed = [[place(c) for c in (e.positive, *e.others)] if e.scores else [] for e in examples]
        teacher = [[_logit(score) for score in example.scores] for example in examples]
        questions = self._inputs.questions([example.question for example in examples])
        return {
            **{f"question_{name}": value for name, value in _inputs(questions).items()},
            **{f"passage_{name}": value for name, value in _inputs([items[row] for row in order]).items()},
            "rows": torch.tensor([moved[row] for row in rows]),
            "outputs": torch.tensor(outputs),
            "answers": torch.tensor(answers),
            "positives": torch.tensor([place(example.positive) for example in examples]),
            "weights": torch.tensor([example.weight for example in examples]),
            "known": _padded(known, -1),
            "listed": _padded(listed, -1),
            "teacher": _padded(teacher, 0.0),
        }

    def _passage(self, source: Source) -> list[PassageInput]:
        if source not in self._passages:
            context, title = source
            self._passages[source] = self._inputs.passages([(title, context, self._spans[source])])
        return self._passages[source]


def _inputs(items: Sequence[EncoderInput]) -> dict[str, Tensor]:
    names = ("input_ids", "attention_mask", "token_type_ids", "pool")
    return {name: torch.from_numpy(array) for name, array in zip(names, input_arrays(items), strict=True)}


def _by_passage(pairs: Sequence[Pair]) -> dict[Source, list[Candidate]]:
    found: dict[Source, list[Candidate]] = defaultdict(list)
    for pair in pairs:
        for candidate in (pair.positive, *pair.negatives):
            found[candidate.context, candidate.title].append(candidate)
    return found


def _probability(pair: Pair) -> float | None:
    """What a classifier gave the pair: its score, or where a silver one has none, its weight."""
    return pair.weight if pair.score is None and pair.source != GOLD else pair.score


def _span(candidate: Candidate) -> tuple[int, int]:
    return candidate.start, candidate.end


def _number(answer: str) -> int:
    """The same for equal texts, in every process."""
    return int.from_bytes(hashlib.sha1(answer.encode()).digest()[:7])


def _logit(probability: float) -> float:
    kept = min(max(probability, MARGIN), 1 - MARGIN)
    return math.log(kept / (1 - kept))


def _padded(rows: Sequence[Sequence[float]], blank: float) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    return torch.tensor([[*row, *[blank] * (width - len(row))] for row in rows])
