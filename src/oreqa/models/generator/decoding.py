"""Decodes questions token by token: greedy, beam search, and nucleus sampling.

A decoder holds a batch of prefixes with the model's state, and returns the logits of each row's next token.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.arguments import choice, count, is_number, kind_of
from oreqa.arrays import Floats
from oreqa.errors import InputError
from oreqa.models.graph.session import check_finite

TokenIds = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Greedy:
    """The most probable token at each step."""


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """Follows the ``beams`` most probable beginnings at each step, one fewer for each question that has ended.

    Questions are ranked by log-probability divided by their number of tokens to the power of ``length_penalty``.
    """

    beams: int = 4
    length_penalty: float = 1.0


@dataclass(frozen=True, slots=True)
class Nucleus:
    """Tokens drawn from the smallest set of probability ``top_p`` (Holtzman et al. 2020).

    The draw depends on ``seed`` and on what the question is generated from, not on the batch.
    """

    top_p: float = 0.6  # label smoothing leaves a tail of a tenth or more, which 0.9 would draw from
    seed: int = 0


Decoding = Greedy | BeamSearch | Nucleus

DECODINGS = ("greedy", "beam", "nucleus")


def as_decoding(decoding: Decoding | str, seed: int = 0) -> Decoding:
    """Return the decoding method named by one of DECODINGS, with its defaults; ``seed`` is that of a nucleus.

    Raises InputError for another name, and for settings out of range.
    """
    if not isinstance(decoding, str):
        return checked_decoding(decoding)
    choice(decoding, DECODINGS, "decoding")
    if decoding == "nucleus":
        return Nucleus(seed=seed)
    return Greedy() if decoding == "greedy" else BeamSearch()


def checked_decoding(decoding: object) -> Decoding:
    """Return a decoding method with plain Python numbers. Raises InputError for settings out of range."""
    match decoding:
        case Greedy():
            return decoding
        case BeamSearch(beams, length_penalty):
            if not is_number(length_penalty):
                raise InputError(f"length_penalty is {length_penalty!r}; it must be a number")
            return BeamSearch(count(beams, "beams"), float(length_penalty))
        case Nucleus(top_p, seed):
            if not is_number(top_p) or not 0 < top_p <= 1:
                raise InputError(f"top_p is {top_p!r}; it must be a probability above 0")
            return Nucleus(float(top_p), count(seed, "seed", 0))
    raise InputError(f"decoding is Greedy(), BeamSearch() or Nucleus(), not {kind_of(decoding)}")


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """A question's token ids, without the end token, and the log-probability of each, including the end token."""

    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]

    @property
    def total(self) -> float:
        """The question's log-probability."""
        return sum(self.log_probabilities)


class Decoder(Protocol):
    """A batch of prefixes on a model."""

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """Begin a batch. Returns logits ``[prefixes, vocabulary]`` of the first tokens, valid until the next call."""
        ...

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """Append a token to each of the ``rows``, which become the rows 0, 1, ... Returns logits like ``start``."""
        ...


@dataclass(frozen=True, slots=True)
class Ending:
    """How questions end: with the token ``end``, which no question begins with, after at most ``limit`` - 1 tokens.

    ``forbidden`` are the tokens that no question contains, ``path`` is the model's folder, for error messages.
    """

    end: int
    limit: int
    forbidden: NDArray[np.intp]
    path: Path

    def log_probabilities(
        self, logits: Floats, written: Sequence[Sequence[int]], repeats: Sequence[Counter[TokenIds]]
    ) -> Floats:
        """Return the log-probability ``[rows, vocabulary]`` of each token, -inf for those that cannot follow.

        ``written`` are the tokens of each row's question so far, equally many in all. No token follows itself, and no pair
        is repeated, lest questions run in circles, except where the prefix does so too: ``repeats`` has the result of
        allowed_repeats for each row. Raises ModelError if the model computed NaN or infinity.
        """
        scores: Floats = logits - logits.max(axis=1, keepdims=True)
        total = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        check_finite(total, self.path)
        scores -= total
        step = len(written[0])
        if step == self.limit - 1:
            ends = scores[:, self.end].copy()
            scores[:] = -np.inf
            scores[:, self.end] = ends
        else:
            scores[:, self.forbidden] = -np.inf
            if step == 0:
                scores[:, self.end] = -np.inf
            for row, (ids, allowed) in enumerate(zip(written, repeats, strict=True)):
                scores[row, list(repeating_tokens(ids, allowed))] = -np.inf
        return scores


def allowed_repeats(prefix: Sequence[int]) -> Counter[TokenIds]:
    """Return how often a question may repeat three tokens, or one token twice in a row: as often as its prefix does.

    A number such as 1,000,000 repeats a pair, and a name such as Duran Duran a token.
    """
    return Counter(_triples(prefix)) + Counter(pair for pair in pairwise(prefix) if pair[0] == pair[1])


def _triples(ids: Sequence[int]) -> Iterable[TokenIds]:
    return zip(ids, ids[1:], ids[2:], strict=False)


def repeating_tokens(ids: Sequence[int], allowed: Counter[TokenIds]) -> set[int]:
    """Return the tokens that would repeat the question's last token, or a pair of it, more often than allowed."""
    if not ids:
        return set()
    last, triples = ids[-1], Counter(_triples(ids))
    repeated = [(*ids[-2:], second) for first, second in pairwise(ids) if first == last]
    tokens = {triple[-1] for triple in repeated if triples[triple] >= allowed[triple]}
    return tokens if allowed[last, last] else tokens | {last}


Choose = Callable[[Floats, NDArray[np.intp], int], NDArray[np.intp]]
"""Maps log-probabilities ``[rows, vocabulary]``, the rows' questions and the step to a token for each row."""


def most_probable(scores: Floats, questions: NDArray[np.intp], step: int) -> NDArray[np.intp]:
    """Return the most probable token of each row."""
    tokens: NDArray[np.intp] = scores.argmax(axis=1)
    return tokens


def draw_from_nucleus(top_p: float, chances: NDArray[np.float64]) -> Choose:
    """Draw tokens from the nucleus; ``chances`` (``[questions, steps]``) are uniform random numbers in [0, 1)."""

    def choose(scores: Floats, questions: NDArray[np.intp], step: int) -> NDArray[np.intp]:
        tokens = np.empty(len(scores), np.intp)
        for row, question in enumerate(questions):
            ids, probabilities = nucleus(scores[row], top_p)
            place = int(np.searchsorted(np.cumsum(probabilities), chances[question, step], "right"))
            tokens[row] = ids[min(place, len(ids) - 1)]
        return tokens

    return choose


_SMALL = 1e-4
"""Tokens less probable than this share of the best are rarely in a nucleus: if the others suffice, only those are sorted."""


def nucleus(scores: Floats, top_p: float) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fewest tokens that have ``top_p`` of the probability of all possible ones, the most probable first.

    The second array is their probabilities, normalised to sum to 1.
    """
    weights = np.exp(scores - scores.max())
    mass = top_p * weights.sum(dtype=np.float64)
    ids = np.flatnonzero(weights >= _SMALL)
    if weights[ids].sum(dtype=np.float64) < mass:
        ids = np.flatnonzero(weights)
    ids = ids[np.argsort(-weights[ids], kind="stable")]
    reach = np.cumsum(weights[ids], dtype=np.float64)
    ids = ids[: int(np.searchsorted(reach, mass)) + 1]
    return ids, weights[ids] / reach[len(ids) - 1]


def decode_one_by_one(
    decoder: Decoder, prefixes: Sequence[Sequence[int]], ending: Ending, questions: int, choose: Choose
) -> list[list[TokenSequence]]:
    """Return ``questions`` questions for each prefix, choosing each token once. Ended questions leave the batch.

    Question q of prefix p is number ``p * questions + q`` for ``choose``.
    """
    total = len(prefixes) * questions
    ids: list[list[int]] = [[] for _ in range(total)]
    log_probabilities: list[list[float]] = [[] for _ in range(total)]
    live = np.arange(total)
    logits = decoder.start(prefixes)
    if questions > 1:
        logits = np.repeat(logits, questions, axis=0)
    rows = live // questions
    repeats = [allowed_repeats(prefix) for prefix in prefixes]
    for step in range(ending.limit):
        written = [ids[question] for question in live]
        scores = ending.log_probabilities(logits, written, [repeats[question // questions] for question in live])
        tokens = choose(scores, live, step)
        for row, (question, token) in enumerate(zip(live, tokens, strict=True)):
            ids[question].append(int(token))
            log_probabilities[question].append(float(scores[row, token]))
        going = tokens != ending.end
        live, rows, tokens = live[going], rows[going], tokens[going]
        if not len(live):
            break
        logits = decoder.step(rows.tolist(), tokens.tolist())
        rows = np.arange(len(live))
    sequences = [TokenSequence(tuple(i[:-1]), tuple(s)) for i, s in zip(ids, log_probabilities, strict=True)]
    return [sequences[begin : begin + questions] for begin in range(0, total, questions)]


@dataclass(frozen=True, slots=True)
class _Beam:
    """The beginning of a question: its prefix, the decoder's row, its tokens and their log-probabilities."""

    prefix: int
    row: int
    ids: tuple[int, ...] = ()
    log_probabilities: tuple[float, ...] = ()


def decode_beams(
    decoder: Decoder, prefixes: Sequence[Sequence[int]], ending: Ending, beams: int, length_penalty: float
) -> list[list[TokenSequence]]:
    """Return ``beams`` questions for each prefix, best first, as defined by ``BeamSearch``."""
    ended: list[list[TokenSequence]] = [[] for _ in prefixes]
    live = [_Beam(number, number) for number in range(len(prefixes))]
    logits = decoder.start(prefixes)
    repeats = [allowed_repeats(prefix) for prefix in prefixes]
    for _ in range(ending.limit):
        scores = ending.log_probabilities(logits, [beam.ids for beam in live], [repeats[beam.prefix] for beam in live])
        followed: list[_Beam] = []
        for number, sequences in enumerate(ended):
            beginnings = [beam for beam in live if beam.prefix == number]
            for beam in _best(beginnings, scores, beams - len(sequences)):
                if beam.ids[-1] == ending.end:
                    sequences.append(TokenSequence(beam.ids[:-1], beam.log_probabilities))
                else:
                    followed.append(beam)
        if not followed:
            break
        logits = decoder.step([beam.row for beam in followed], [beam.ids[-1] for beam in followed])
        live = [_Beam(beam.prefix, row, beam.ids, beam.log_probabilities) for row, beam in enumerate(followed)]
    for sequences in ended:
        sequences.sort(key=lambda s: -s.total / len(s.log_probabilities) ** length_penalty)
    return ended


def _best(beginnings: Sequence[_Beam], scores: Floats, count: int) -> list[_Beam]:
    """Return the ``count`` most probable continuations by one token, the most probable first."""
    candidates = []
    for beam in beginnings:
        row = scores[beam.row]
        so_far = sum(beam.log_probabilities)
        tokens = np.argpartition(row, -count)[-count:] if count < len(row) else np.arange(len(row))
        candidates += [(so_far + float(row[token]), beam, int(token)) for token in tokens if row[token] > -np.inf]
    candidates.sort(key=lambda candidate: -candidate[0])
    return [
        _Beam(beam.prefix, beam.row, (*beam.ids, token), (*beam.log_probabilities, float(scores[beam.row, token])))
        for _, beam, token in candidates[:count]
    ]
