"""The losses of recipes/base against loops over single numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from group_losses import block_loss, label_loss, pupil_loss, teacher_loss  # noqa: E402

pytestmark = pytest.mark.train


def make_batch() -> dict[str, Any]:
    """Three questions with up to three passages of up to five tokens: one has an answer in two passages, one a block alone,
    one nothing."""
    tokens = torch.zeros(3, 3, 5, dtype=torch.bool)
    tokens[..., 1:4] = True
    tokens[0, 1, 4] = True
    mask = torch.ones(3, 3, 5, dtype=torch.long)
    mask[1, 2] = mask[2, 1:] = 0  # these passages are padding
    tokens &= mask.bool()
    spans = torch.full((3, 3, 2, 2), -1)
    spans[0, 0, 0], spans[0, 1, 0], spans[0, 1, 1] = torch.tensor([1, 2]), torch.tensor([1, 1]), torch.tensor([3, 4])
    holds = torch.tensor([[True, True, False], [True, False, False], [False] * 3])
    block = torch.zeros(3, 3, 5)
    block[0, 0, 1:4] = block[1, 0, 2:4] = 1
    return {"tokens": tokens, "attention_mask": mask, "spans": spans, "holds": holds, "block": block}


def random_outputs(seed: int) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(3 * torch.randn(shape, generator=generator) for shape in ((3, 3, 5), (3, 3, 5), (3, 3), (3, 3, 5)))


def places(batch: dict[str, Any], g: int) -> list[tuple[int, int]]:
    return [(p, t) for p in range(3) for t in range(5) if batch["tokens"][g, p, t]]


def present(batch: dict[str, Any], g: int) -> list[int]:
    return [p for p in range(3) if batch["attention_mask"][g, p].any()]


def softmax(logits: list[float]) -> list[float]:
    total = sum(map(math.exp, logits))
    return [math.exp(logit) / total for logit in logits]


def cross_entropy(logit: float, target: float) -> float:
    probability = 1 / (1 + math.exp(-logit))
    return -target * math.log(probability) - (1 - target) * math.log(1 - probability)


def slow_block_loss(blocks: Any, batch: dict[str, Any]) -> float:
    total = weights = 0.0
    for g in range(3):
        for p in present(batch, g):
            inside = [t for q, t in places(batch, g) if q == p]
            weight = 1.0 if batch["block"][g, p].any() else 0.0 if batch["holds"][g, p] else 0.25
            entropy = [cross_entropy(float(blocks[g, p, t]), float(batch["block"][g, p, t])) for t in inside]
            total, weights = total + weight * sum(entropy) / len(inside), weights + weight
    return total / max(1.0, weights)


def slow_label_loss(outputs: Any, batch: dict[str, Any]) -> float:
    start, end, selection, blocks = outputs
    span_losses, selection_losses = [], []
    for g in range(3):
        choices = places(batch, g)
        starts, ends = (dict(zip(choices, softmax([float(x[g][c]) for c in choices]), strict=True)) for x in (start, end))
        spans = [(p, *map(int, span)) for p in range(3) for span in batch["spans"][g, p] if span[0] >= 0]
        if spans:
            span_losses.append(-math.log(sum(starts[p, first] * ends[p, last] for p, first, last in spans)))
        selected = softmax([0.0, *(float(selection[g, p]) for p in present(batch, g))])
        right = sum(selected[1 + p] for p in present(batch, g) if batch["holds"][g, p]) or selected[0]
        selection_losses.append(-math.log(right))
    return sum(span_losses) / len(span_losses) + sum(selection_losses) / 3 + slow_block_loss(blocks, batch) / 2


def slow_teacher_loss(outputs: Any, teacher: Any, batch: dict[str, Any]) -> float:
    def divergence(pupil: list[float], expert: list[float]) -> float:
        learned, expected = (softmax([logit / 2 for logit in logits]) for logits in (pupil, expert))
        return 4 * sum(q * math.log(q / p) for p, q in zip(learned, expected, strict=True))

    total, entropy = 0.0, []
    for g in range(3):
        for edge in (0, 1):
            total += 0.5 * divergence(*([float(x[edge][g][c]) for c in places(batch, g)] for x in (outputs, teacher)))
        total += divergence(*([0.0, *(float(x[2][g, p]) for p in present(batch, g))] for x in (outputs, teacher)))
        for p in present(batch, g):
            inside = [t for q, t in places(batch, g) if q == p]
            targets = [1 / (1 + math.exp(-float(teacher[3][g, p, t]))) for t in inside]
            losses = [cross_entropy(float(outputs[3][g, p, t]), target) for t, target in zip(inside, targets, strict=True)]
            entropy.append(sum(losses) / len(inside))
    return total / 3 + sum(entropy) / len(entropy) / 2


def test_the_losses_are_those_of_loops() -> None:
    batch = make_batch()
    for seed in range(5):
        outputs, teacher = random_outputs(seed), random_outputs(seed + 10)
        labels, soft = slow_label_loss(outputs, batch), slow_teacher_loss(outputs, teacher, batch)
        assert float(block_loss(outputs[3], batch)) == pytest.approx(slow_block_loss(outputs[3], batch), rel=1e-4)
        assert float(label_loss(outputs, batch)) == pytest.approx(labels, rel=1e-4)
        assert float(teacher_loss(outputs, teacher, batch)) == pytest.approx(soft, rel=1e-4)
        assert float(pupil_loss(outputs, teacher, batch)) == pytest.approx(0.3 * labels + 0.7 * soft, rel=1e-4)


def test_a_passage_that_answers_without_a_labelled_block_teaches_no_block() -> None:
    batch = make_batch()
    blocks = random_outputs(0)[3].requires_grad_()
    block_loss(blocks, batch).backward()
    taught = blocks.grad.any(-1)
    assert taught.tolist() == [[True, False, True], [True, True, False], [True, False, False]]


def test_a_pupil_that_says_what_its_teacher_says_learns_no_more_from_it() -> None:
    batch = make_batch()
    outputs = tuple(logits.requires_grad_() for logits in random_outputs(0))
    teacher_loss(outputs, tuple(logits.detach() for logits in outputs), batch).backward()
    assert all(logits.grad.abs().max() < 1e-6 for logits in outputs)
