from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.retrieval import soft_label_loss, weighted_softmax  # noqa: E402

pytestmark = pytest.mark.train


def unit(*shape: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(*shape), dim=-1)


def test_the_loss_equals_the_obvious_one() -> None:
    torch.manual_seed(0)
    q, c = unit(4, 8), unit(6, 8)
    positives, weights = torch.tensor([0, 3, 3, 5]), torch.tensor([1.0, 0.25, 0.81, 1.0])
    known = torch.zeros(4, 6, dtype=torch.bool)
    known[0, [0, 2]] = known[1, 3] = known[2, [1, 3, 4]] = True
    wanted = 0.0
    for i in range(4):
        left = [j for j in range(6) if j == positives[i] or not known[i, j]]
        exps = {j: math.exp(20 * float(q[i] @ c[j])) for j in left}
        wanted -= float(weights[i]) * math.log(exps[int(positives[i])] / sum(exps.values()))
    assert float(weighted_softmax(q, c, positives, weights, known, 20.0)) == pytest.approx(wanted / 4, rel=1e-5)


def test_known_positives_get_no_gradient_of_that_question() -> None:
    torch.manual_seed(1)
    q, c = unit(1, 8), unit(3, 8).requires_grad_()
    known = torch.tensor([[True, True, False]])
    weighted_softmax(q, c, torch.tensor([0]), torch.ones(1), known, 100.0).backward()
    assert c.grad[1].abs().sum() == 0
    assert c.grad[2].abs().sum() > 0


def test_one_candidate_costs_nothing() -> None:
    q = unit(1, 8)
    assert float(weighted_softmax(q, q, torch.tensor([0]), torch.ones(1), torch.ones(1, 1, dtype=torch.bool), 100.0)) == 0


def test_equal_candidates_share_the_probability() -> None:
    q = unit(1, 8)
    loss = weighted_softmax(q, q.repeat(4, 1), torch.tensor([2]), torch.ones(1), torch.zeros(1, 4, dtype=torch.bool), 100.0)
    assert float(loss) == pytest.approx(math.log(4), rel=1e-5)


def test_soft_labels_equal_the_obvious_ones() -> None:
    torch.manual_seed(2)
    q, c = unit(3, 8), unit(5, 8)
    listed = torch.tensor([[0, 2, 4], [1, 3, -1], [2, -1, -1]])
    teacher, weights = torch.randn(3, 3), torch.tensor([1.0, 0.5, 1.0])
    wanted = 0.0
    for i, row in enumerate([[0, 2, 4], [1, 3]]):  # the third has nothing to compare with
        right = [math.exp(float(teacher[i, k])) for k in range(len(row))]
        mine = [math.exp(10 * float(q[i] @ c[j])) for j in row]
        for a, b in zip(right, mine, strict=True):
            wanted -= float(weights[i]) * a / sum(right) * math.log(b / sum(mine))
    assert float(soft_label_loss(q, c, listed, teacher, weights, 10.0)) == pytest.approx(wanted / 3, rel=1e-5)
