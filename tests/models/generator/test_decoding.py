from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from oreqa.models.generator.decoding import (
    Decoder,
    Ending,
    Floats,
    TokenSequence,
    allowed_repeats,
    decode_beams,
    decode_one_by_one,
    draw_from_nucleus,
    most_probable,
    nucleus,
)

VOCABULARY, END, NEVER = 13, 3, 7
ENDING = Ending(END, 6, np.array([NEVER]), Path())
PREFIXES = [[1], [2, 5, 5], [4, 1], [9, 9, 9, 9], [8]]


class TableDecoder:
    """Logits are drawn by the tokens so far; it checks that rows are those of the batch before."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []
        self.sizes: list[int] = []

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        self.rows = [list(prefix) for prefix in prefixes]
        return self._logits()

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        assert max(rows) < len(self.rows)
        self.rows = [[*self.rows[row], token] for row, token in zip(rows, tokens, strict=True)]
        return self._logits()

    def _logits(self) -> Floats:
        self.sizes.append(len(self.rows))
        return np.stack([table_logits(row) for row in self.rows])


def table_logits(tokens: Sequence[int]) -> Floats:
    return np.random.default_rng(list(tokens)).normal(0, 2, VOCABULARY).astype(np.float32)


def log_probability(tokens: Sequence[int], token: int) -> float:
    logits = table_logits(tokens).astype(np.float64)
    return float(logits[token] - np.log(np.exp(logits).sum()))


def times(ids: Sequence[int], part: Sequence[int]) -> int:
    return sum(list(ids[place : place + len(part)]) == list(part) for place in range(len(ids)))


def repeats_too_often(prefix: Sequence[int], written: Sequence[int], token: int) -> bool:
    if written and written[-1] == token and not times(prefix, [token, token]):
        return True
    if written and times(written, [written[-1], token]):
        triple = [*written[-2:], token]
        return times(written, triple) >= times(prefix, triple)
    return False


def may_follow(prefix: Sequence[int], written: Sequence[int]) -> list[int]:
    if len(written) == ENDING.limit - 1:
        return [END]
    tokens = [token for token in range(VOCABULARY) if token != NEVER and (written or token != END)]
    return [token for token in tokens if not repeats_too_often(prefix, written, token)]


def slow_greedy(prefix: Sequence[int]) -> list[int]:
    question: list[int] = []
    while True:
        token = max(may_follow(prefix, question), key=lambda t: table_logits([*prefix, *question])[t])
        if token == END:
            return question
        question.append(token)


def greedy(decoder: Decoder, prefixes: Sequence[Sequence[int]]) -> list[TokenSequence]:
    return [sequence for (sequence,) in decode_one_by_one(decoder, prefixes, ENDING, 1, most_probable)]


def check_scores(prefix: Sequence[int], sequence: TokenSequence) -> None:
    tokens = [*sequence.ids, END]
    expected = [log_probability([*prefix, *tokens[:place]], token) for place, token in enumerate(tokens)]
    assert list(sequence.log_probabilities) == pytest.approx(expected, abs=1e-5)


def test_greedy_equals_a_loop_over_tokens() -> None:
    decoder = TableDecoder()
    sequences = greedy(decoder, PREFIXES)
    assert [list(sequence.ids) for sequence in sequences] == [slow_greedy(prefix) for prefix in PREFIXES]
    for prefix, sequence in zip(PREFIXES, sequences, strict=True):
        check_scores(prefix, sequence)
    lengths = [len(sequence.ids) for sequence in sequences]
    assert len(set(lengths)) > 1
    # A question that has ended is not computed any more.
    assert decoder.sizes == [sum(length >= step for length in lengths) for step in range(max(lengths) + 1)]


def test_one_beam_is_greedy() -> None:
    beams = decode_beams(TableDecoder(), PREFIXES, ENDING, 1, 1.0)
    assert [sequence for (sequence,) in beams] == greedy(TableDecoder(), PREFIXES)


def test_wide_beams_find_the_best_question_of_all() -> None:
    ending = Ending(END, 4, np.array([NEVER]), Path())
    for prefix in PREFIXES:
        (sequences,) = decode_beams(TableDecoder(), [prefix], ending, VOCABULARY**3, 0.0)
        totals = [sequence.total for sequence in sequences]
        assert totals == sorted(totals, reverse=True)
        tokens = [t for t in range(VOCABULARY) if t not in (NEVER, END)]
        every = [[a] for a in tokens]
        every += [[*ids, b] for ids in every for b in tokens if not repeats_too_often(prefix, ids, b)]
        every += [[*ids, c] for ids in every for c in tokens if len(ids) == 2 and not repeats_too_often(prefix, ids, c)]
        assert {sequence.ids for sequence in sequences} == {tuple(question) for question in every}
        for sequence in sequences[:3]:
            check_scores(prefix, sequence)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0, 2.0])
def test_beams_equal_a_slow_search(length_penalty: float) -> None:
    width = 3
    together = decode_beams(TableDecoder(), PREFIXES, ENDING, width, length_penalty)
    for prefix, sequences in zip(PREFIXES, together, strict=True):
        live: list[tuple[float, list[int]]] = [(0.0, [])]
        ended: list[tuple[float, list[int]]] = []
        for _ in range(ENDING.limit):
            longer = [
                (total + log_probability([*prefix, *tokens], token), [*tokens, token])
                for total, tokens in live
                for token in may_follow(prefix, tokens)
            ]
            best = sorted(longer, key=lambda beam: -beam[0])[: width - len(ended)]
            ended += [beam for beam in best if beam[1][-1] == END]
            live = [beam for beam in best if beam[1][-1] != END]
        ended.sort(key=lambda beam: -beam[0] / len(beam[1]) ** length_penalty)
        assert [list(sequence.ids) for sequence in sequences] == [tokens[:-1] for _, tokens in ended]
        assert [sequence.total for sequence in sequences] == pytest.approx([total for total, _ in ended], abs=1e-4)
        for sequence in sequences:
            check_scores(prefix, sequence)


@pytest.mark.slow
def test_a_nucleus_is_the_fewest_tokens_of_its_probability() -> None:
    rng = np.random.default_rng(0)
    for spread in (0.01, 1, 5, 30):
        for top_p in (0.05, 0.5, 0.9, 0.999, 1.0):
            logits = rng.normal(0, spread, 30_000)
            scores = (logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()).astype(np.float32)
            ids, probabilities = nucleus(scores, top_p)
            order = np.argsort(-scores.astype(np.float64), kind="stable")
            every = np.exp(scores.astype(np.float64))
            expected, mass = [], 0.0
            for token in order:
                expected.append(token)
                mass += every[token]
                if mass >= top_p * every.sum():
                    break
            assert abs(len(ids) - len(expected)) <= (1 if top_p < 1 else 30_000)
            assert every[ids].sum() >= top_p * every.sum() * (1 - 1e-6)
            assert probabilities.sum() == pytest.approx(1)
            assert np.allclose(probabilities, every[ids] / every[ids].sum(), rtol=1e-4)
            assert ids[:10].tolist() == order[: min(10, len(ids))].tolist()


def test_drawn_tokens_are_inside_the_nucleus_and_as_frequent_as_probable() -> None:
    logits = table_logits([1]) * 0.7
    scores = (logits - np.log(np.exp(logits).sum())).astype(np.float32)
    ids, probabilities = nucleus(scores, 0.8)
    assert 1 < len(ids) < VOCABULARY
    draws = 20_000
    chances = np.random.default_rng(0).random((draws, 1))
    tokens = draw_from_nucleus(0.8, chances)(np.tile(scores, (draws, 1)), np.arange(draws), 0)
    assert set(tokens.tolist()) == set(ids.tolist())
    shares = [float(np.mean(tokens == token)) for token in ids]
    assert shares == pytest.approx(probabilities.tolist(), abs=0.015)
    edges = draw_from_nucleus(0.8, np.array([[0.0], [1 - 1e-16]]))(np.tile(scores, (2, 1)), np.arange(2), 0)
    assert edges.tolist() == [ids[0], ids[-1]]


def test_a_nucleus_of_one_token_is_greedy() -> None:
    chances = np.random.default_rng(0).random((len(PREFIXES), ENDING.limit))
    drawn = decode_one_by_one(TableDecoder(), PREFIXES, ENDING, 1, draw_from_nucleus(1e-9, chances))
    assert [sequence for (sequence,) in drawn] == greedy(TableDecoder(), PREFIXES)


def test_several_questions_of_a_prefix_are_drawn_as_if_they_were_alone() -> None:
    chances = np.random.default_rng(0).random((3 * len(PREFIXES), ENDING.limit))
    together = decode_one_by_one(TableDecoder(), PREFIXES, ENDING, 3, draw_from_nucleus(0.95, chances))
    for number, prefix in enumerate(PREFIXES):
        for place in range(3):
            choose = draw_from_nucleus(0.95, chances[3 * number + place :][:1])
            ((alone,),) = decode_one_by_one(TableDecoder(), [prefix], ENDING, 1, choose)
            assert together[number][place] == alone
            check_scores(prefix, alone)
    assert len({sequence.ids for sequence in together[0]}) > 1


def test_a_question_has_a_token_and_ends_at_its_limit() -> None:
    for prefix in PREFIXES:
        for question in (
            [*slow_greedy(prefix)],
            *(list(s.ids) for s in decode_beams(TableDecoder(), [prefix], ENDING, 5, 1.0)[0]),
        ):
            assert 1 <= len(question) < ENDING.limit
            assert not {END, NEVER} & set(question)

    class Endless(TableDecoder):
        def _logits(self) -> Floats:
            logits = super()._logits()
            logits[:, END] = -20
            return logits

    (sequence,) = greedy(Endless(), [[1]])
    assert len(sequence.ids) == 5
    assert len(sequence.log_probabilities) == 6
    assert sequence.log_probabilities[-1] < -8


def test_no_token_follows_another_twice() -> None:
    class Circles(TableDecoder):
        """After token t, t + 1 is the most probable, but after 10 it is 8."""

        def _logits(self) -> Floats:
            self.sizes.append(len(self.rows))
            logits = np.tile(np.arange(VOCABULARY, dtype=np.float32) / 100, (len(self.rows), 1))
            for row, tokens in zip(logits, self.rows, strict=True):
                row[8 if tokens[-1] == 10 else (tokens[-1] + 1) % VOCABULARY] = 5
            return logits

    long = Ending(END, 12, np.array([NEVER]), Path())
    ((question,),) = decode_one_by_one(Circles(), [[7]], long, 1, most_probable)
    assert question.ids[:4] == (8, 9, 10, 8)
    assert question.ids[4] != 9
    for sequences in decode_beams(Circles(), [[7], [8]], long, 4, 1.0):
        for sequence in sequences:
            pairs = [sequence.ids[place : place + 2] for place in range(len(sequence.ids) - 1)]
            assert len(set(pairs)) == len(pairs)


def test_a_repeat_is_copied_from_the_prefix_as_often_as_it_stands_there() -> None:
    def tokens_after(prefix: list[int], written: list[int]) -> set[int]:
        scores = ENDING.log_probabilities(np.zeros((1, VOCABULARY), np.float32), [written], [allowed_repeats(prefix)])
        return set(np.flatnonzero(np.isfinite(scores[0])).tolist())

    # 1,000,000: a comma, and three zeros.
    million = [1, 10, 8, 10, 8]
    assert 8 in tokens_after(million, million[:4])
    assert 8 not in tokens_after(million[:3], million[:4])
    assert 8 not in tokens_after(million, [8, 10, 8, 10])
    # Duran Duran, which is no Duran Duran Duran.
    assert 9 in tokens_after([5, 9, 9], [9])
    assert 9 not in tokens_after([5, 9, 9], [9, 9])
    assert 9 in tokens_after([9, 9, 9], [9, 9])
    assert 9 not in tokens_after([9, 5, 9], [9])


def test_no_token_follows_itself() -> None:
    class Stutters(TableDecoder):
        """The last token is the most probable, and the next number after it."""

        def _logits(self) -> Floats:
            self.sizes.append(len(self.rows))
            logits = np.zeros((len(self.rows), VOCABULARY), np.float32)
            for row, tokens in zip(logits, self.rows, strict=True):
                row[tokens[-1]], row[(tokens[-1] + 1) % VOCABULARY] = 9, 5
            return logits

    long = Ending(END, 12, np.array([NEVER]), Path())
    ((question,),) = decode_one_by_one(Stutters(), [[8]], long, 1, most_probable)
    assert question.ids[:3] == (8, 9, 10)
    for sequences in decode_beams(Stutters(), [[8]], long, 4, 1.0):
        assert all(a != b for sequence in sequences for a, b in pairwise(sequence.ids))
