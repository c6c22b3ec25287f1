"""Teachers that experiments put in the place of ENDX's alignment."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from oreqa.losses.alignment import AlignmentWeights, Kernel, PairVectors, RoleKernels, alignment_loss  # noqa: E402
from oreqa.training.retriever import loss as retriever_loss  # noqa: E402

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "support" / "teachers.py"
WEIGHTS = AlignmentWeights(0.3, 0.5, 0.5, 0.5)
KERNELS = RoleKernels.alike(Kernel("inner", None, 1.0))


@pytest.fixture(scope="module")
def teachers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("teachers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(seed: int) -> PairVectors:
    torch.manual_seed(seed)
    return PairVectors(torch.randn(5, 3), torch.randn(5, 3))


def test_regression_is_the_squared_distance_to_the_cross_encoders_vectors(teachers: ModuleType) -> None:
    dual, cross = drawn(0), drawn(1)
    anchors, anchor_weights = torch.tensor([1, 2, 4]), torch.tensor([1.0, 0.5, 2.0])
    loss = teachers.regression(dual, cross, WEIGHTS, KERNELS, KERNELS, anchors=anchors, anchor_weights=anchor_weights)
    expected = 0.0
    for number, weight in zip(anchors.tolist(), anchor_weights.tolist(), strict=True):
        for a, b in ((dual.questions, cross.questions), (dual.answers, cross.answers)):
            expected += weight * sum((x - y) ** 2 for x, y in zip(a[number].tolist(), b[number].tolist(), strict=True))
    assert loss.item() == pytest.approx(0.3 * expected / 3)


def test_labels_draw_each_vector_to_its_own_pair(teachers: ModuleType) -> None:
    dual = drawn(0)
    loss = teachers.labels(dual, drawn(1), AlignmentWeights(1, 0, 0, 0), KERNELS, KERNELS)
    expected = -(dual.questions @ dual.answers.T).log_softmax(1).diagonal().mean()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("both", [True, False])
def test_widths_begin_at_the_medians_and_learn(teachers: ModuleType, both: bool) -> None:
    medians = RoleKernels.alike(Kernel("gaussian", None, 3.0))
    dual, cross = drawn(0), drawn(1)
    loss = teachers.LearnedWidths(both)
    first = loss(dual, cross, WEIGHTS, medians, medians)
    assert first.item() == pytest.approx(alignment_loss(dual, cross, WEIGHTS, medians, medians).item(), rel=1e-5)
    start_widths = loss.widths()
    assert {key.split()[0] for key in start_widths} == ({"dual", "cross"} if both else {"dual"})
    assert len(start_widths) == (8 if both else 4)
    first.backward()
    for _ in range(30):
        loss(dual, cross, WEIGHTS, medians, medians).backward()
    assert loss(dual, cross, WEIGHTS, medians, medians).item() < first.item()
    assert all(width != start_widths[key] for key, width in loss.widths().items())


def test_trainings_learn_from_the_teacher(teachers: ModuleType) -> None:
    with teachers.taught_by("regression"):
        assert retriever_loss.alignment_loss is teachers.regression
    with teachers.taught_by("geometry"):
        assert retriever_loss.alignment_loss is alignment_loss
    assert retriever_loss.alignment_loss is alignment_loss
