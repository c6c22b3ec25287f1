"""What teaches a dual encoder instead of ENDX's alignment, in experiments only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, Literal
from unittest.mock import patch

import torch
from torch import Tensor

from oreqa.losses.alignment import AlignmentWeights, PairVectors, RoleKernels, alignment_loss

Teacher = Literal["geometry", "labels", "regression", "all_widths", "dual_widths"]
"""The cross-encoder's geometry, as in the paper; the labels; the cross-encoder's vectors themselves; or its geometry through
Gaussian kernels of learned width: all eight, or the dual encoder's four."""


ROLES = tuple(field.name for field in fields(RoleKernels))


def labels(dual: PairVectors, cross: PairVectors, *rest: Any, **named: Any) -> Tensor:
    """Return the alignment loss with the labels instead of the cross-encoder: in all four terms each pair is its own and
    only neighbour."""
    apart = 100 * torch.eye(len(cross.questions), device=cross.questions.device)
    return alignment_loss(dual, PairVectors(apart, apart), *rest, **named)


def regression(
    dual: PairVectors,
    cross: PairVectors,
    weights: AlignmentWeights,
    dual_kernels: RoleKernels,
    cross_kernels: RoleKernels,
    *,
    anchors: Tensor,
    anchor_weights: Tensor,
    blank: Tensor | None = None,
) -> Tensor:
    """Return the squared distance of each vector to the cross-encoder's of the same text: the "element-wise alignment"
    that Wang et al. (2021, section 3.4) call too rigid. Its weight is that of the answers around a question."""
    squares = [
        (getattr(dual, side) - getattr(cross, side))[anchors].float().square().sum(1) for side in ("questions", "answers")
    ]
    return weights.answer_question * (anchor_weights * (squares[0] + squares[1])).mean()


class LearnedWidths:
    """Alignment by Gaussian kernels whose widths are learned from it, starting from the medians of the first batch: one for
    each encoder and each pair of roles (Wang et al. 2021, Eq. 7 and 8).

    Without ``both``, the cross-encoder's widths remain the medians of each batch.
    """

    def __init__(self, both: bool) -> None:
        self._encoders = ("dual", "cross") if both else ("dual",)
        self._logs: dict[tuple[str, str], Tensor] = {}

    def widths(self) -> dict[str, float]:
        """The current widths."""
        return {" ".join(key): round(value.detach().exp().item(), 4) for key, value in self._logs.items()}

    def __call__(
        self,
        dual: PairVectors,
        cross: PairVectors,
        weights: AlignmentWeights,
        dual_kernels: RoleKernels,
        cross_kernels: RoleKernels,
        **named: Any,
    ) -> Tensor:
        kernels = {"dual": dual_kernels, "cross": cross_kernels}
        for encoder in self._encoders:
            kernels[encoder] = self._learned(encoder, kernels[encoder], dual if encoder == "dual" else cross)
        return alignment_loss(dual, cross, weights, kernels["dual"], kernels["cross"], **named)

    def _learned(self, encoder: str, kernels: RoleKernels, vectors: PairVectors) -> RoleKernels:
        learned = {}
        for roles in ROLES:
            key = encoder, roles
            if key not in self._logs:
                centres, others = (getattr(vectors, f"{role}s").detach().float() for role in reversed(roles.split("_")))
                apart = ~torch.eye(len(centres), dtype=torch.bool)
                self._logs[key] = self._trained(torch.cdist(centres, others)[apart].square().median().log())
            learned[roles] = replace(getattr(kernels, roles), width=self._logs[key].exp())
        return RoleKernels(**learned)

    def _trained(self, value: Tensor) -> Tensor:
        """Return a number that is updated as soon as its gradient is there."""
        optimiser = torch.optim.Adam([value.requires_grad_()], lr=0.05)

        def learn(_: Tensor) -> None:
            optimiser.step()
            optimiser.zero_grad()

        value.register_post_accumulate_grad_hook(learn)
        return value


_LOSSES: dict[Teacher, Callable[[], Callable[..., Tensor]]] = {
    "geometry": lambda: alignment_loss,
    "labels": lambda: labels,
    "regression": lambda: regression,
    "all_widths": lambda: LearnedWidths(both=True),
    "dual_widths": lambda: LearnedWidths(both=False),
}


@contextmanager
def taught_by(teacher: Teacher) -> Iterator[Callable[..., Tensor]]:
    """Let trainings with an alignment learn from this teacher, and yield its loss."""
    loss = _LOSSES[teacher]()
    with patch("oreqa.training.retriever.loss.alignment_loss", loss):
        yield loss
