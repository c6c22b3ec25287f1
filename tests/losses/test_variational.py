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


def slow_nll(logits: list[list[float]], targets: list[int], mask: list[int]) -> float:
    total = 0.0
    for row, target, real in zip(logits, targets, mask, strict=True):
        if real:
            total -= math.log(math.exp(row[target]) / sum(math.exp(logit) for logit in row))
    return total


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


@pytest.mark.parametrize("mask", [
    [[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]],
    [[1, 1, 1, 0]],  # batch 1
    [[1]],  # one token
    [[0, 0], [1, 1]],  # a text without tokens
])  # fmt: skip
@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_the_likelihood_equals_the_obvious_one(mask: list[list[int]], kind: torch.dtype) -> None:
    shape = len(mask), len(mask[0])
    generator = torch.Generator().manual_seed(shape[0])
    logits = 4 * torch.randn(*shape, 11, generator=generator)
    targets = torch.randint(11, shape, generator=generator)
    nll = token_nll(logits, targets, torch.tensor(mask).to(kind))
    assert nll.shape == shape[:1]
    for value, *row in zip(nll.tolist(), logits.double().tolist(), targets.tolist(), mask, strict=True):
        assert value == pytest.approx(slow_nll(*row), rel=1e-5)


def test_what_stands_in_the_padding_has_neither_loss_nor_gradient() -> None:
    torch.manual_seed(0)
    logits, targets, mask = torch.randn(2, 3, 7), torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[1, 1, 0], [1, 0, 0]])
    changed_logits, changed_targets = logits.clone(), targets.clone()
    changed_logits[mask == 0] = 1e4
    changed_targets[mask == 0] = 0
    assert torch.equal(token_nll(logits, targets, mask), token_nll(changed_logits, changed_targets, mask))
    logits.requires_grad_()
    token_nll(logits, targets, mask).sum().backward()
    assert torch.equal(logits.grad.abs().sum(-1) > 0, mask.bool())


def test_equal_logits_cost_the_logarithm_of_the_vocabulary_for_each_token() -> None:
    nll = token_nll(torch.zeros(2, 3, 9), torch.zeros(2, 3, dtype=torch.long), torch.tensor([[1, 1, 1], [1, 0, 0]]))
    assert nll.tolist() == pytest.approx([3 * math.log(9), math.log(9)], rel=1e-6)


def test_they_are_computed_in_f32() -> None:
    half = torch.full((1, 2), 100.1, dtype=torch.bfloat16)
    assert gaussian_kl(half, -half).dtype == torch.float32
    assert float(gaussian_kl(half, torch.zeros_like(half))) == pytest.approx(float(half[0, 0]) ** 2, rel=1e-6)
    logits = torch.tensor([[[100.0, 99.5]]], dtype=torch.bfloat16)
    nll = token_nll(logits, torch.tensor([[0]]), torch.ones(1, 1))
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
