"""Geometry alignment: a dual encoder learns which questions and answers are neighbours from a cross-encoder.

Wang et al. (2021, section 3.4). A batch has ``N`` pairs of a question and its answer, each as vectors of width ``D`` from
both encoders. The others of the batch are near or far from a question or an answer: a probability distribution over the
questions, and one over the answers. The dual encoder's four distributions are trained towards the cross-encoder's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

KernelKind = Literal["inner", "gaussian"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The similarity of two vectors: ``scale`` times their inner product (Eq. 10), or times exp(-squared distance / width)
    (Eq. 9), whose ``width`` the paper calls 2σ². The scale is an inverse temperature; the paper has none (1).

    Without a ``width``, it is the median of the squared distances between vectors of different pairs (the median heuristic).
    """

    kind: KernelKind
    width: float | None
    scale: float

    def __call__(self, rows: Tensor, columns: Tensor, blank: Tensor | None = None) -> Tensor:
        """Return the kernel of ``rows`` and ``columns`` ``[N, D]`` of the same pairs:

        ``[N, N]`` float32, even under autocast.

        Pairs that are ``blank`` (bool, ``[N]``) do not affect the median.
        """
        with torch.autocast(rows.device.type, enabled=False):
            rows, columns = rows.float(), columns.float()
            values = rows @ columns.T
            if self.kind == "gaussian":
                squares = (rows.square().sum(1)[:, None] + columns.square().sum(1) - 2 * values).clamp(min=0)
                values = torch.exp(-squares / (_median_width(squares, blank) if self.width is None else self.width))
            return self.scale * values


def _median_width(squares: Tensor, blank: Tensor | None) -> Tensor:
    """Return the median of the squared distances ``[N, N]`` off the diagonal, and at least 1e-6."""
    off_diagonal = ~torch.eye(len(squares), dtype=torch.bool, device=squares.device)
    if blank is not None:
        off_diagonal &= ~(blank[:, None] | blank)
    distances = squares.detach()[off_diagonal]
    return distances.median().clamp(min=1e-6) if len(distances) else squares.new_ones(())


@dataclass(frozen=True, slots=True)
class RoleKernels:
    """An encoder's kernels, one for each pair of roles (Eq. 7 and 8).

    ``answer_question`` is that of p(answer | question).
    """

    answer_question: Kernel
    question_answer: Kernel
    question_question: Kernel
    answer_answer: Kernel

    @classmethod
    def alike(cls, kernel: Kernel) -> RoleKernels:
        """Return the same kernel for all pairs of roles."""
        return cls(kernel, kernel, kernel, kernel)


@dataclass(frozen=True, slots=True)
class PairVectors:
    """Vectors ``[N, D]`` of the questions and answers of a batch, from one encoder."""

    questions: Tensor
    answers: Tensor

    def detached(self) -> PairVectors:
        """Return the same vectors without gradients."""
        return PairVectors(self.questions.detach(), self.answers.detach())


@dataclass(frozen=True, slots=True)
class AlignmentWeights:
    """The weights α of the four terms (Eq. 12). ``answer_question`` is that of p(answer | question)."""

    answer_question: float
    question_answer: float
    question_question: float
    answer_answer: float

    def times(self, share: float) -> AlignmentWeights:
        """Return a share of each weight."""
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
    dual_kernels: RoleKernels,
    cross_kernels: RoleKernels,
    *,
    anchors: Tensor | None = None,
    anchor_weights: Tensor | None = None,
    blank: Tensor | None = None,
) -> Tensor:
    """``sum of α KL(p_cross || p_dual)`` over the four pairs of roles, each averaged over the batch (Eq. 6 to 12).

    p(b | a) is the softmax over the batch of the kernel of ``a`` with every ``b``, including ``a`` itself, as printed. Use
    when a cross-encoder can teach the dual encoder in training. Alternatives: soft labels of a trained classifier
    (``losses.retrieval``), and text decoders (``losses.variational``).

    Detach ``cross`` to keep the alignment from training it: the paper does not say.

    With several processes, ``anchors`` (``[B]``) are the numbers of this process's pairs, over which it averages with the
    weights ``anchor_weights`` (``[B]``). Their neighbours are all pairs except ``blank`` ones (bool, ``[N]``).
    """
    loss = dual.questions.new_zeros((), dtype=torch.float32)

    def logs(kernel: Kernel, centres: Tensor, others: Tensor) -> Tensor:
        similarities = kernel(centres, others, blank)
        similarities = similarities if anchors is None else similarities[anchors]
        return (similarities if blank is None else similarities.masked_fill(blank, -1e9)).log_softmax(1)

    for pair, cross_roles, dual_roles in (
        ("answer_question", (cross.questions, cross.answers), (dual.questions, dual.answers)),
        ("question_answer", (cross.answers, cross.questions), (dual.answers, dual.questions)),
        ("question_question", (cross.questions, cross.questions), (dual.questions, dual.questions)),
        ("answer_answer", (cross.answers, cross.answers), (dual.answers, dual.answers)),
    ):
        weight = getattr(weights, pair)
        if not weight:
            continue
        target, learned = logs(getattr(cross_kernels, pair), *cross_roles), logs(getattr(dual_kernels, pair), *dual_roles)
        divergence = (target.exp() * (target - learned)).sum(1)
        loss = loss + weight * (divergence if anchor_weights is None else anchor_weights * divergence).mean()
    return loss
