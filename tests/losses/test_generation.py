from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.generation import token_loss  # noqa: E402

pytestmark = pytest.mark.train


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
