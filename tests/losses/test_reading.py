from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.reading import selection_loss, span_loss  # noqa: E402
from oreqa.losses.reranking import listwise_softmax  # noqa: E402

pytestmark = pytest.mark.train


def slow_span_loss(start, end, tokens, spans, shared) -> float:  # type: ignore[no-untyped-def]
    """Written down from the papers: probabilities token by token."""
    losses = []
    for g in range(len(start)):
        passages = range(len(start[g]))

        def softmax(logits, p, place, g=g, passages=passages):  # type: ignore[no-untyped-def]
            over = passages if shared else [p]
            total = sum(math.exp(logits[g][q][t]) for q in over for t in range(len(logits[g][q])) if tokens[g][q][t])
            return math.exp(logits[g][p][place]) / total

        sums = []
        for p in passages:
            found = [(int(a), int(b)) for a, b in spans[g][p] if a >= 0]
            if found:
                sums.append(sum(softmax(start, p, a) * softmax(end, p, b) for a, b in found))
        if sums:
            losses.append(-math.log(sum(sums)) if shared else sum(-math.log(s) for s in sums) / len(sums))
    return sum(losses) / len(losses) if losses else 0.0


def batch():  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    start, end = torch.randn(3, 2, 6), torch.randn(3, 2, 6)
    tokens = torch.ones(3, 2, 6, dtype=torch.bool)
    tokens[:, :, 0] = False
    tokens[0, 1] = False  # a passage that is only padding
    tokens[1, 0, 4:] = False
    spans = torch.full((3, 2, 2, 2), -1)
    spans[0, 0, 0] = torch.tensor([1, 3])
    spans[1, 0] = torch.tensor([[1, 1], [2, 3]])
    spans[1, 1, 0] = torch.tensor([5, 5])
    return start, end, tokens, spans  # the third question has no answer


@pytest.mark.parametrize("shared", [True, False])
def test_span_loss_equals_the_slow_one(shared: bool) -> None:
    start, end, tokens, spans = batch()
    assert span_loss(start, end, tokens, spans, shared).item() == pytest.approx(
        slow_span_loss(start, end, tokens, spans, shared), rel=1e-5
    )


@pytest.mark.parametrize("shared", [True, False])
def test_span_loss_without_answers_is_zero_and_trains_nothing(shared: bool) -> None:
    start, end, tokens, spans = batch()
    start.requires_grad_()
    loss = span_loss(start, end, tokens, torch.full_like(spans, -1), shared)
    loss.backward()
    assert loss.item() == 0
    assert not start.grad.any()


def test_shared_normalisation_punishes_a_rival_passage_alone() -> None:
    start, end, tokens, spans = batch()
    louder = start.clone()
    louder[2, 1] += 5
    louder[1, 1, 1:5] += 5
    spans[1, 1] = -1
    alone = span_loss(start, end, tokens, spans, False), span_loss(louder, end, tokens, spans, False)
    together = span_loss(start, end, tokens, spans, True), span_loss(louder, end, tokens, spans, True)
    assert alone[0].item() == pytest.approx(alone[1].item())
    assert together[1] > together[0]


def test_padding_takes_no_part() -> None:
    start, end, tokens, spans = batch()
    wide = [torch.nn.functional.pad(x, (0, 3), value=v) for x, v in ((start, 9.0), (end, 9.0), (tokens, False))]
    assert span_loss(*wide, spans, True).item() == pytest.approx(span_loss(start, end, tokens, spans, True).item())


def test_selection_loss() -> None:
    logits = torch.tensor([[1.0, 2.0, 5.0], [0.5, -1.0, 0.0]])
    present = torch.tensor([[True, True, False], [True, True, True]])
    has_answer = torch.tensor([[True, False, False], [False, False, False]])
    one = -math.log(math.exp(1) / (math.exp(1) + math.exp(2)))
    assert selection_loss(logits, present, has_answer, null=False).item() == pytest.approx(one, rel=1e-5)
    first = -math.log(math.exp(1) / (1 + math.exp(1) + math.exp(2)))
    second = -math.log(1 / (1 + math.exp(0.5) + math.exp(-1) + 1))
    assert selection_loss(logits, present, has_answer, null=True).item() == pytest.approx((first + second) / 2, rel=1e-5)
    both = torch.tensor([[True, True, False], [False, False, False]])
    assert selection_loss(logits, present, both, null=False).item() == pytest.approx(0, abs=1e-5)
    assert selection_loss(logits, present, torch.zeros_like(has_answer), null=False).item() == 0


def test_listwise_softmax_is_reconsiders_equation_2() -> None:
    scores = torch.tensor([[2.0, 1.0, -1.0], [0.0, 3.0, 9.0]])
    present = torch.tensor([[True, True, True], [True, True, False]])
    first = -math.log(math.exp(2) / (math.exp(2) + math.exp(1) + math.exp(-1)))
    second = -math.log(1 / (1 + math.exp(3)))
    assert listwise_softmax(scores, present, torch.ones(2)).item() == pytest.approx((first + second) / 2, rel=1e-5)
    weighted = listwise_softmax(scores, present, torch.tensor([0.5, 1.0])).item()
    assert weighted == pytest.approx((0.5 * first + second) / 2, rel=1e-5)
    lone = torch.tensor([[True, False, False]])
    assert listwise_softmax(scores[:1], lone, torch.ones(1)).item() == pytest.approx(0, abs=1e-6)
