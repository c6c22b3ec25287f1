"""What teaches a dual encoder in the place of ENDX's alignment, in experiments alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal
from unittest.mock import patch

import torch
from torch import Tensor

from oreqa.losses.alignment import AlignmentWeights, PairVectors, RoleKernels, alignment_loss

Teacher = Literal["geometry", "labels", "regression"]
"""The cross-encoder's geometry, as in the paper; the labels; or the cross-encoder's vectors themselves."""


def labels(dual: PairVectors, cross: PairVectors, *rest: Any, **named: Any) -> Tensor:
    """The alignment with the labels in the cross-encoder's place: in all four terms each pair is its own and only
    neighbour."""
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
    """The squared distance of each vector to the cross-encoder's of the same text: the "element-wise alignment" that Wang et
    al. (2021, section 3.4) call too rigid. Its weight is that of the answers around a question."""
    squares = [
        (getattr(dual, side) - getattr(cross, side))[anchors].float().square().sum(1) for side in ("questions", "answers")
    ]
    return weights.answer_question * (anchor_weights * (squares[0] + squares[1])).mean()


_LOSSES: dict[Teacher, Callable[..., Tensor]] = {"geometry": alignment_loss, "labels": labels, "regression": regression}


@contextmanager
def taught_by(teacher: Teacher) -> Iterator[None]:
    """Trainings with an alignment learn from this teacher."""
    with patch("oreqa.training.retriever.loss.alignment_loss", _LOSSES[teacher]):
        yield
