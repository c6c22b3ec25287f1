from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.variational import gaussian_kl, token_nll, variational_loss  # noqa: E402

pytestmark = pytest.mark.train


def slow_kl(means: list[float], log_variances: list[float]) -> float:
    """By the definition, ``E_p[log p - log N(0, I)]``, with the two expectations of a Gaussian's square written out."""
    total = 0.0
    for mean, log_variance in zip(means, log_variances, strict=True):
        log_p = -0.5 * math.log(2 * math.pi * math.exp(log_variance)) - 0.5  # E[(x - m)^2] / v = 1
        log_prior = -0.5 * math.log(2 * math.pi) - 0.5 * (mean**2 + math.exp(log_variance))  # E[x^2] = m^2 + v
        total += log_p - log_prior
    return total


def slow_nll(logits: list[float], target: int) -> float:
    return -math.log(math.exp(logits[target]) / sum(math.exp(logit) for logit in logits))


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("width", [1, 16])
def test_the_kl_equals_its_definition(batch: int, width: int) -> None:
    generator = torch.Generator().manual_seed(batch + width)
    means = 2 * torch.randn(batch, width, generator=generator)
    log_variances = torch.randn(batch, width, generator=generator) - 2
    kl = gaussian_kl(means, log_variances)
    assert kl.shape == (batch,)
    for value, *row in zip(kl.tolist(), means.double().tolist(), log_variances.double().tolist(), strict=True):
        assert value == pytest.approx(slow_kl(*row), rel=1e-5)


def test_the_kl_of_the_prior_is_zero_and_its_gradient_too() -> None:
    means, log_variances = torch.zeros(2, 4, requires_grad=True), torch.zeros(2, 4, requires_grad=True)
    kl = gaussian_kl(means, log_variances)
    kl.sum().backward()
    assert kl.tolist() == [0, 0]
    assert not means.grad.any()
    assert not log_variances.grad.any()


@pytest.mark.parametrize("tokens", [1, 7])
def test_the_likelihood_equals_the_obvious_one(tokens: int) -> None:
    generator = torch.Generator().manual_seed(tokens)
    logits = 4 * torch.randn(tokens, 11, generator=generator)
    targets = torch.randint(11, (tokens,), generator=generator)
    nll = token_nll(logits, targets)
    for value, row, target in zip(nll.tolist(), logits.double().tolist(), targets.tolist(), strict=True):
        assert value == pytest.approx(slow_nll(row, target), rel=1e-5)


def test_equal_logits_cost_the_logarithm_of_the_vocabulary() -> None:
    assert token_nll(torch.zeros(2, 9), torch.tensor([3, 8])).tolist() == pytest.approx([math.log(9)] * 2, rel=1e-6)


def test_they_are_computed_in_f32() -> None:
    half = torch.full((1, 2), 100.1, dtype=torch.bfloat16)
    assert gaussian_kl(half, -half).dtype == torch.float32
    assert float(gaussian_kl(half, torch.zeros_like(half))) == pytest.approx(float(half[0, 0]) ** 2, rel=1e-6)
    nll = token_nll(torch.tensor([[100.0, 99.5]], dtype=torch.bfloat16), torch.tensor([0]))
    assert nll.dtype == torch.float32
    assert float(nll) == pytest.approx(math.log(1 + math.exp(-0.5)), rel=1e-5)


@pytest.mark.parametrize("batch", [1, 4])
def test_the_loss_weights_pairs_and_terms(batch: int) -> None:
    generator = torch.Generator().manual_seed(batch)
    reconstruction, kl, weights = (torch.rand(batch, generator=generator) for _ in range(3))
    rows = zip(reconstruction.double().tolist(), kl.double().tolist(), weights.double().tolist(), strict=True)
    total = sum(weight * (0.02 * nll + 0.3 * divergence) for nll, divergence, weight in rows)
    loss = variational_loss(reconstruction, kl, weights, 0.02, 0.3)
    assert float(loss) == pytest.approx(total / batch, rel=1e-5)
