from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.alignment import AlignmentWeights, Kernel, PairVectors, RoleKernels, alignment_loss  # noqa: E402

WEIGHTS = AlignmentWeights(0.3, 0.7, 2.0, 5.0)
PRINTED = AlignmentWeights(0.5, 0.5, 1e4, 1e4)
INNER = Kernel("inner", width=1.0, scale=1.0)


def pairs(batch: int, seed: int, width: int = 4) -> PairVectors:
    generator = torch.Generator().manual_seed(seed)
    questions, answers = (torch.randn(batch, width, generator=generator, dtype=torch.float64) for _ in range(2))
    return PairVectors(questions, answers)


def slow_median(anchors: torch.Tensor, others: torch.Tensor) -> float:
    """Of the squared distances of different pairs; of two in the middle, the lower."""
    squares = sorted(
        sum((x - y) ** 2 for x, y in zip(a, b, strict=True))
        for i, a in enumerate(anchors.tolist())
        for j, b in enumerate(others.tolist())
        if i != j
    )
    return squares[(len(squares) - 1) // 2] if squares else 1.0


def slow_probabilities(anchors: torch.Tensor, others: torch.Tensor, kernel: Kernel) -> list[list[float]]:
    """Eq. 7 to 10, number by number."""
    rows = []
    width = slow_median(anchors, others) if kernel.width is None else kernel.width
    for anchor in anchors.tolist():
        values = []
        for other in others.tolist():
            if kernel.kind == "inner":
                value = sum(a * b for a, b in zip(anchor, other, strict=True))
            else:
                value = math.exp(-sum((a - b) ** 2 for a, b in zip(anchor, other, strict=True)) / width)
            values.append(kernel.scale * value)
        total = sum(math.exp(value) for value in values)
        rows.append([math.exp(value) / total for value in values])
    return rows


def slow_rows(
    dual: PairVectors,
    cross: PairVectors,
    weights: AlignmentWeights,
    dual_kernels: Sequence[Kernel],
    cross_kernels: Sequence[Kernel],
) -> list[float]:
    """Eq. 11 and 12 before the average: what each anchor adds. Each encoder has a kernel for each of the four."""
    rows = [0.0] * len(dual.questions)
    for weight, anchors, others, dual_kernel, cross_kernel in (
        (weights.answer_question, "questions", "answers", dual_kernels[0], cross_kernels[0]),
        (weights.question_answer, "answers", "questions", dual_kernels[1], cross_kernels[1]),
        (weights.question_question, "questions", "questions", dual_kernels[2], cross_kernels[2]),
        (weights.answer_answer, "answers", "answers", dual_kernels[3], cross_kernels[3]),
    ):
        p_dual = slow_probabilities(getattr(dual, anchors), getattr(dual, others), dual_kernel)
        p_cross = slow_probabilities(getattr(cross, anchors), getattr(cross, others), cross_kernel)
        for i, (learned, target) in enumerate(zip(p_dual, p_cross, strict=True)):
            rows[i] += weight * sum(c * math.log(c / d) for c, d in zip(target, learned, strict=True))
    return rows


def slow_loss(dual: PairVectors, cross: PairVectors, weights: AlignmentWeights, kernel: Kernel) -> float:
    rows = slow_rows(dual, cross, weights, [kernel] * 4, [kernel] * 4)
    return sum(rows) / len(rows)


def loss_of(dual: PairVectors, cross: PairVectors, weights: AlignmentWeights, kernel: Kernel) -> torch.Tensor:
    """The loss with one kernel for both encoders and all pairs of roles."""
    return alignment_loss(dual, cross, weights, RoleKernels.alike(kernel), RoleKernels.alike(kernel))


KERNELS = [
    Kernel("gaussian", None, 1.0),
    INNER,
    Kernel("gaussian", 1.0, 1.0),
    Kernel("gaussian", 8.0, 3.0),
    Kernel("inner", 1.0, 0.3),
]


@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("kernel", KERNELS)
def test_it_equals_the_printed_equations(batch: int, kernel: Kernel) -> None:
    dual, cross = pairs(batch, 0), pairs(batch, 1)
    expected = slow_loss(dual, cross, WEIGHTS, kernel)
    assert loss_of(dual, cross, WEIGHTS, kernel).item() == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("widths", [(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), (None, 2.0, None, 4.0, 5.0, None, None, None)])
@pytest.mark.parametrize("kind", ["gaussian", "inner"])
def test_each_encoder_has_a_kernel_for_each_pair_of_roles(kind: str, widths: tuple[float | None, ...]) -> None:
    """Eight widths, as Eq. 7 and 8 print, and eight scales."""
    dual, cross = pairs(5, 0), pairs(5, 1)
    kernels = [Kernel(kind, width, 0.2 * number) for number, width in enumerate(widths, start=1)]  # type: ignore[arg-type]
    rows = slow_rows(dual, cross, WEIGHTS, kernels[:4], kernels[4:])
    loss = alignment_loss(dual, cross, WEIGHTS, RoleKernels(*kernels[:4]), RoleKernels(*kernels[4:]))
    assert loss.item() == pytest.approx(sum(rows) / 5, rel=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_process_averages_over_its_own_pairs_and_sees_no_blanks(kernel: Kernel) -> None:
    """Two processes of three pairs and of two, which is padded with a blank."""
    dual, cross = pairs(5, 0), pairs(5, 1)
    rows = slow_rows(dual, cross, WEIGHTS, [kernel] * 4, [kernel] * 4)

    def padded(vectors: PairVectors) -> PairVectors:
        return PairVectors(*(torch.cat([part, torch.zeros(1, 4)]) for part in (vectors.questions, vectors.answers)))

    blank = torch.tensor([False] * 5 + [True])
    for anchors, times in (([0, 1, 2], [1.0, 1.0, 1.0]), ([3, 4], [0.5, 2.0])):
        loss = alignment_loss(
            padded(dual),
            padded(cross),
            WEIGHTS,
            RoleKernels.alike(kernel),
            RoleKernels.alike(kernel),
            anchors=torch.tensor(anchors),
            anchor_weights=torch.tensor(times),
            blank=blank,
        )
        expected = sum(t * rows[i] for i, t in zip(anchors, times, strict=True)) / len(anchors)
        assert loss.item() == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_each_term_is_weighted_by_its_own_weight() -> None:
    dual, cross = pairs(5, 0), pairs(5, 1)
    alone = []
    for field in fields(AlignmentWeights):
        weights = AlignmentWeights(**{other.name: float(other is field) for other in fields(AlignmentWeights)})
        alone.append(loss_of(dual, cross, weights, INNER).item())
        assert alone[-1] == pytest.approx(slow_loss(dual, cross, weights, INNER), rel=1e-5)
    assert len({round(value, 4) for value in alone}) == 4


def test_equal_geometry_costs_nothing_and_trains_nothing() -> None:
    """A rotation changes every vector, and no inner product."""
    cross = pairs(6, 0)
    rotation = torch.linalg.qr(torch.randn(4, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)).Q
    dual = PairVectors(cross.questions @ rotation, cross.answers @ rotation)
    dual.questions.requires_grad_()
    loss = loss_of(dual, cross, AlignmentWeights(1, 1, 1, 1), INNER)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert dual.questions.grad.abs().max() < 1e-5


def test_a_detached_cross_encoder_learns_nothing() -> None:
    for detach in (True, False):
        dual, cross = pairs(4, 0), pairs(4, 1)
        for vectors in (dual, cross):
            vectors.questions.requires_grad_()
        loss_of(dual, cross.detached() if detach else cross, WEIGHTS, INNER).backward()
        assert dual.questions.grad.abs().sum() > 0
        assert (cross.questions.grad is None) == detach


def test_it_is_computed_in_float32_whatever_the_vectors_are() -> None:
    dual, cross = pairs(4, 0), pairs(4, 1)
    halves = [PairVectors(v.questions.bfloat16(), v.answers.bfloat16()) for v in (dual, cross)]
    loss = loss_of(halves[0], halves[1], WEIGHTS, INNER)
    assert loss.dtype == torch.float32
    exact = [PairVectors(v.questions.double(), v.answers.double()) for v in halves]
    assert loss.item() == pytest.approx(slow_loss(exact[0], exact[1], WEIGHTS, INNER), rel=1e-4)


def test_large_inner_products_stay_finite() -> None:
    dual = PairVectors(*(1e3 * part for part in (pairs(5, 0).questions, pairs(5, 0).answers)))
    cross = PairVectors(*(-1e3 * part for part in (pairs(5, 1).questions, pairs(5, 1).answers)))
    learned = [part.requires_grad_() for part in (dual.questions, dual.answers, cross.questions, cross.answers)]
    loss = loss_of(dual, cross, PRINTED, INNER)
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(part.grad is not None and part.grad.isfinite().all() for part in learned)


def test_a_share_of_the_weights() -> None:
    assert PRINTED.times(0.5) == AlignmentWeights(0.25, 0.25, 5000, 5000)
    assert PRINTED.times(0) == AlignmentWeights(0, 0, 0, 0)


def test_autocast_does_not_round_it() -> None:
    rows, columns = torch.randn(3, 5), torch.randn(3, 5)
    with torch.autocast("cpu", torch.bfloat16):
        values = INNER(rows, columns)
    assert values.dtype == torch.float32
    torch.testing.assert_close(values, rows @ columns.T)
