"""Geometry alignment: a dual encoder learns which questions and answers are neighbours from a cross-encoder.

Wang et al. (2021, section 3.4). A batch holds ``N`` pairs of a question and its answer, each as vectors of width ``D`` by
both encoders. From a question or an answer, the others of the batch are near or far: a probability distribution over the
questions, and one over the answers. The dual encoder's four distributions are drawn to the cross-encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

KernelKind = Literal["inner", "gaussian"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How near two vectors are: ``scale`` times their inner product (Eq. 10), or times exp(-squared distance / width)
    (Eq. 9), whose ``width`` the paper calls 2σ². The scale is an inverse temperature; the paper has none (1)."""

    kind: KernelKind
    width: float
    scale: float

    def __call__(self, rows: Tensor, columns: Tensor) -> Tensor:
        """``[N, D]`` and ``[M, D]`` to ``[N, M]`` float32, under autocast, too."""
        with torch.autocast(rows.device.type, enabled=False):
            rows, columns = rows.float(), columns.float()
            values = rows @ columns.T
            if self.kind == "gaussian":
                squares = rows.square().sum(1)[:, None] + columns.square().sum(1) - 2 * values
                values = torch.exp(-squares.clamp(min=0) / self.width)
            return self.scale * values


@dataclass(frozen=True, slots=True)
class PairVectors:
    """Vectors ``[N, D]`` of the questions and of the answers of a batch, by one encoder."""

    questions: Tensor
    answers: Tensor

    def detached(self) -> PairVectors:
        """The same, through which nothing is learned."""
        return PairVectors(self.questions.detach(), self.answers.detach())


@dataclass(frozen=True, slots=True)
class AlignmentWeights:
    """The weights α of the four terms (Eq. 12). ``answer_question`` is that of p(answer | question)."""

    answer_question: float
    question_answer: float
    question_question: float
    answer_answer: float

    def times(self, share: float) -> AlignmentWeights:
        """A share of each weight."""
        return AlignmentWeights(
            share * self.answer_question,
            share * self.question_answer,
            share * self.question_question,
            share * self.answer_answer,
        )


def alignment_loss(
    dual: PairVectors,
    cross: PairVectors,
    weights: AlignmentWeights,
    kernel: Kernel,
    *,
    anchors: Tensor | None = None,
    anchor_weights: Tensor | None = None,
    blank: Tensor | None = None,
) -> Tensor:
    """``sum of α KL(p_cross || p_dual)`` over the four pairs of roles, each averaged over the batch (Eq. 6 to 12).

    p(b | a) is the softmax over the batch of the kernel of ``a`` with every ``b``; ``a`` itself is among them, as printed.
    Use when a cross-encoder can teach the dual encoder in training. Rivals: soft labels of a trained classifier
    (``losses.retrieval``), and text decoders (``losses.variational``).

    Detach ``cross`` to keep the alignment from training it: the paper does not say.

    With several processes, ``anchors`` (``[B]``) are the numbers of this process's pairs, over which it averages with the
    weights ``anchor_weights`` (``[B]``). Their neighbours are all pairs but those that are ``blank`` (bool, ``[N]``).
    """
    loss = dual.questions.new_zeros((), dtype=torch.float32)

    def logs(centres: Tensor, others: Tensor) -> Tensor:
        similarities = kernel(centres if anchors is None else centres[anchors], others)
        return (similarities if blank is None else similarities.masked_fill(blank, -1e9)).log_softmax(1)

    for weight, of_cross, of_dual in (
        (weights.answer_question, (cross.questions, cross.answers), (dual.questions, dual.answers)),
        (weights.question_answer, (cross.answers, cross.questions), (dual.answers, dual.questions)),
        (weights.question_question, (cross.questions, cross.questions), (dual.questions, dual.questions)),
        (weights.answer_answer, (cross.answers, cross.answers), (dual.answers, dual.answers)),
    ):
        if not weight:
            continue
        target, learned = logs(*of_cross), logs(*of_dual)
        divergence = (target.exp() * (target - learned)).sum(1)
        loss = loss + weight * (divergence if anchor_weights is None else anchor_weights * divergence).mean()
    return loss
