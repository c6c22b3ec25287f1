from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from oreqa.losses.open_retrieval import early_loss, joint_loss  # noqa: E402
from oreqa.losses.reading import span_loss  # noqa: E402

pytestmark = pytest.mark.train


def slow_marginal(scores, present, has_answer) -> float:  # type: ignore[no-untyped-def]
    """The probability of the passages with an answer, one passage after another, in Python's own doubles."""
    losses = []
    for row, real, right in zip(scores.tolist(), present.tolist(), has_answer.tolist(), strict=True):
        total = sum(math.exp(score) for score, is_real in zip(row, real, strict=True) if is_real)
        chosen = sum(math.exp(score) for score, is_right in zip(row, right, strict=True) if is_right)
        if any(right):
            losses.append(-math.log(chosen / total))
    return sum(losses) / len(losses) if losses else 0.0


def slow_joint(start, end, tokens, spans, scores, present, shared) -> float:  # type: ignore[no-untyped-def]
    """The joint probability, span after span: p(passage) over all retrieved ones, p(span) over the tokens that are read."""
    losses = []
    for g in range(len(start)):
        retrieved = sum(math.exp(scores[g, c]) for c in range(scores.shape[1]) if present[g, c])
        probability, annotated = 0.0, False
        for p in range(start.shape[1]):
            over = range(start.shape[1]) if shared else [p]

            def share(logits, place, g=g, p=p, over=over):  # type: ignore[no-untyped-def]
                total = sum(math.exp(logits[g, q, t]) for q in over for t in range(logits.shape[2]) if tokens[g, q, t])
                return math.exp(logits[g, p, place]) / total

            for first, last in spans[g, p].tolist():
                if first >= 0:
                    annotated = True
                    probability += math.exp(scores[g, p]) / retrieved * share(start, first) * share(end, last)
        if annotated:
            losses.append(-math.log(probability))
    return sum(losses) / len(losses) if losses else 0.0


def retrieval(rows: list[str]):  # type: ignore[no-untyped-def]
    """Scores, real passages and those with an answer: + holds one, - does not, and a blank is filling."""
    width = max(map(len, rows))
    scores = torch.randn(len(rows), width, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 3
    present = torch.tensor([[mark != " " for mark in row.ljust(width)] for row in rows])
    has_answer = torch.tensor([[mark == "+" for mark in row.ljust(width)] for row in rows])
    return scores, present, has_answer


RETRIEVALS = {
    "padding": ["+-+-", "-+"],
    "one question": ["--+-"],
    "one passage": ["+"],
    "a question without a hit": ["+--", "---", "-+-"],
    "no hit at all": ["--", "-"],
    "all hits": ["+++", "++"],
}


@pytest.mark.parametrize("rows", RETRIEVALS.values(), ids=RETRIEVALS)
def test_passages_likelihood_equals_the_slow_one(rows: list[str]) -> None:
    scores, present, has_answer = retrieval(rows)
    assert early_loss(scores, present, has_answer).item() == pytest.approx(
        slow_marginal(scores, present, has_answer), rel=1e-5, abs=1e-6
    )


def test_ties_share_their_probability() -> None:
    scores, present, has_answer = retrieval(["+--+", "+---"])
    tied = torch.full_like(scores, 2.0)
    assert early_loss(tied, present, has_answer).item() == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_early_loss_of_half_precision_is_computed_in_full() -> None:
    scores, present, has_answer = retrieval(["+" + "-" * 999])
    halves = (scores / 100).bfloat16()
    assert early_loss(halves, present, has_answer).item() == pytest.approx(
        slow_marginal(halves.double(), present, has_answer), rel=1e-5
    )


def test_questions_without_a_hit_train_nothing() -> None:
    scores, present, has_answer = retrieval(["+--", "---"])
    scores.requires_grad_()
    early_loss(scores, present, has_answer).backward()
    assert scores.grad[0].all()
    assert not scores.grad[1].any()


def read_passages():  # type: ignore[no-untyped-def]
    """Two questions with three passages each, the last of them padding, and five retrieved ones; the third has no answer."""
    generator = torch.Generator().manual_seed(2)
    start, end = (torch.randn(3, 3, 6, generator=generator, dtype=torch.float64) for _ in range(2))
    tokens = torch.ones(3, 3, 6, dtype=torch.bool)
    tokens[:, :, 0] = False
    tokens[0, 2] = False
    tokens[1, 0, 4:] = False
    spans = torch.full((3, 3, 2, 2), -1)
    spans[0, 0, 0] = torch.tensor([1, 3])
    spans[1, 0] = torch.tensor([[1, 1], [2, 3]])
    spans[1, 1, 0] = torch.tensor([5, 5])
    scores = torch.randn(3, 5, generator=generator, dtype=torch.float64)
    present = torch.ones(3, 5, dtype=torch.bool)
    present[0, 2:] = False
    return start, end, tokens, spans, scores, present


def log_probabilities(scores: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Those of the three passages that are read, by the softmax over all five."""
    return scores.masked_fill(~present, -1e9).log_softmax(-1)[:, :3]


@pytest.mark.parametrize("questions", [[0], [1], [2], [0, 1], [0, 1, 2]])
@pytest.mark.parametrize("shared", [True, False])
def test_joint_loss_equals_the_slow_one(shared: bool, questions: list[int]) -> None:
    start, end, tokens, spans, scores, present = (part[questions] for part in read_passages())
    passages = log_probabilities(scores, present)
    expected = slow_joint(start, end, tokens, spans, scores, present, shared)
    assert joint_loss(start, end, tokens, spans, passages, shared).item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_joint_loss_of_certain_passages_is_the_reader_s() -> None:
    start, end, tokens, spans, _, _ = read_passages()
    certain = torch.zeros(3, 3)
    assert joint_loss(start, end, tokens, spans, certain, True) == span_loss(start, end, tokens, spans, True)


def test_joint_loss_trains_the_scores_of_questions_with_an_answer_alone() -> None:
    start, end, tokens, spans, scores, present = read_passages()
    scores.requires_grad_()
    joint_loss(start, end, tokens, spans, log_probabilities(scores, present), True).backward()
    assert scores.grad[0, 0] < 0 < scores.grad[0, 1]
    assert not scores.grad[0, 2:].any()
    assert not scores.grad[2].any()
