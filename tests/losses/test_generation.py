from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.generation import span_cross_entropy, span_softmax, token_loss  # noqa: E402

pytestmark = pytest.mark.train


def batch():  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    scores = torch.randn(3, 5, 4, requires_grad=True)
    allowed = torch.rand(3, 5, 4) < 0.7
    gold = torch.zeros(3, 5, 4, dtype=torch.bool)
    for place in ((0, 0, 1), (0, 3, 0), (1, 2, 2)):  # the third window has none
        gold[place] = allowed[place] = True
    return scores, allowed, gold


def test_softmax_is_the_mean_over_spans_that_were_asked_about() -> None:
    scores, allowed, gold = batch()
    losses = []
    for n, i, d in gold.nonzero().tolist():
        total = sum(math.exp(float(scores[n, a, b].detach())) for a, b in allowed[n].nonzero().tolist())
        losses.append(-math.log(math.exp(float(scores[n, i, d].detach())) / total))
    loss = span_softmax(scores, allowed, gold)
    assert float(loss.detach()) == pytest.approx(sum(losses) / len(losses), abs=1e-5)
    loss.backward()
    assert not scores.grad[~allowed].any()
    assert not scores.grad[2].any()


def test_cross_entropy_draws_negatives_among_what_is_allowed() -> None:
    scores, allowed, gold = batch()
    wrong = allowed & ~gold

    def softplus(x: float) -> float:
        return math.log1p(math.exp(x))

    right = sum(softplus(-score) for score in scores[gold].tolist())
    every = (right + sum(softplus(score) for score in scores[wrong].tolist())) / 3
    assert float(span_cross_entropy(scores, allowed, gold, 1000).detach()) == pytest.approx(every, abs=1e-5)
    loss = span_cross_entropy(scores, allowed, gold, 2)
    loss.backward()
    touched = scores.grad != 0
    assert int(touched.sum()) == 3 + 2 * 3
    assert bool((touched & ~allowed).any()) is False
    torch.manual_seed(1)
    again = [float(span_cross_entropy(scores, allowed, gold, 2).detach()) for _ in range(9)]
    assert len(set(again)) > 1  # other negatives each time


@pytest.mark.parametrize("loss", [span_softmax, lambda *tensors: span_cross_entropy(*tensors, 5)])
def test_a_batch_without_spans_gives_nothing(loss) -> None:  # type: ignore[no-untyped-def]
    scores, allowed, gold = batch()
    value = loss(scores, allowed, torch.zeros_like(gold))
    assert float(value.detach()) == 0
    value.backward()
    assert not scores.grad.any()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("tokens", [1, 7])
def test_the_loss_is_that_of_the_smoothed_distribution(tokens: int, smoothing: float) -> None:
    generator = torch.Generator().manual_seed(tokens)
    logits = 3 * torch.randn(tokens, 11, generator=generator)
    targets = torch.randint(11, (tokens,), generator=generator)
    total = 0.0
    for row, target in zip(logits.double().tolist(), targets.tolist(), strict=True):
        normaliser = math.log(sum(math.exp(logit) for logit in row))
        for token, logit in enumerate(row):
            probability = (1 - smoothing) * (token == target) + smoothing / 11
            total -= probability * (logit - normaliser)
    assert float(token_loss(logits, targets, smoothing)) == pytest.approx(total / tokens, rel=1e-5)


def test_it_is_computed_in_f32() -> None:
    logits = torch.tensor([[100.0, 99.9, 0.0]], dtype=torch.bfloat16)
    assert token_loss(logits, torch.tensor([0]), 0.0).dtype == torch.float32
