"""Geometry alignment: a dual encoder learns which questions and answers are neighbours from a cross-encoder.

Wang et al. (2021, section 3.4). A batch holds ``B`` pairs of a question and its answer, each as vectors of width ``D`` by
both encoders. How the vectors of one side lie around a vector of the other, or of its own, is a probability distribution
over the batch; the dual encoder's four distributions are drawn to the cross-encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kernel = Literal["inner", "gaussian"]
"""How near two vectors are: by their inner product (Eq. 10), or by exp(-squared distance / width) (Eq. 9)."""

RAMP_EPOCHS = 5.0
"""Epochs over which the weights of the four terms rise from 0."""


@dataclass(frozen=True, slots=True)
class PairVectors:
    """Vectors ``[B, D]`` of the questions and of the answers of a batch, by one encoder."""

    questions: Tensor
    answers: Tensor


@dataclass(frozen=True, slots=True)
class AlignmentWeights:
    """The weights α of the four terms (Eq. 12). ``answer_question`` is that of p(answer | question)."""

    answer_question: float = 0.5
    question_answer: float = 0.5
    question_question: float = 1e4
    answer_answer: float = 1e4

    def ramped(self, epoch: float) -> AlignmentWeights:
        """The weights at a point of training, in epochs: they rise linearly from 0 over the first RAMP_EPOCHS."""
        share = min(1.0, max(0.0, epoch / RAMP_EPOCHS))
        names = ("answer_question", "question_answer", "question_question", "answer_answer")
        return AlignmentWeights(**{name: share * getattr(self, name) for name in names})


def log_conditionals(anchors: Tensor, others: Tensor, kernel: Kernel = "inner", width: float = 1.0) -> Tensor:
    """``log p(other_j | anchor_i)``, ``[B, B]`` float32: a softmax over the batch of the kernel (Eq. 7 and 8).

    ``width`` is the Gaussian kernel's 2σ². A vector is among its own neighbours, as printed.
    """
    anchors, others = anchors.float(), others.float()
    similarities = anchors @ others.T
    if kernel == "gaussian":
        squares = anchors.square().sum(1)[:, None] + others.square().sum(1) - 2 * similarities
        similarities = torch.exp(-squares.clamp(min=0) / width)
    return similarities.log_softmax(1)


def alignment_loss(
    dual: PairVectors,
    cross: PairVectors,
    weights: AlignmentWeights,
    kernel: Kernel = "inner",
    width: float = 1.0,
    detach: bool = True,
) -> Tensor:
    """``sum of α KL(p_cross || p_dual)`` over the four pairs of roles, each averaged over the batch (Eq. 11 and 12).

    With ``detach`` the cross-encoder is the target and learns nothing here; the paper does not say.
    """
    if detach:
        cross = PairVectors(cross.questions.detach(), cross.answers.detach())
    loss = dual.questions.new_zeros((), dtype=torch.float32)
    for weight, anchors, others in (
        (weights.answer_question, "questions", "answers"),
        (weights.question_answer, "answers", "questions"),
        (weights.question_question, "questions", "questions"),
        (weights.answer_answer, "answers", "answers"),
    ):
        if weight:
            target, learned = (
                log_conditionals(getattr(vectors, anchors), getattr(vectors, others), kernel, width)
                for vectors in (cross, dual)
            )
            loss = loss + weight * (target.exp() * (target - learned)).sum(1).mean()
    return loss
