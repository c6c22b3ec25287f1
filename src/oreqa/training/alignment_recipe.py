"""The table ``[alignment]`` of a retriever's recipe: a cross-encoder that teaches the dual encoder (Wang et al. 2021)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from oreqa.training.sections import NonNegative, Section

Positive = Annotated[float, Field(gt=0)]


class Alignment(Section):
    """How a cross-encoder is trained beside the dual encoder, and its geometry passed on."""

    dual_share: NonNegative = 0.25
    """Weight of the dual encoder's loss."""
    cross_share: NonNegative = 0.25
    """Weight of the cross-encoder's loss."""
    share: NonNegative = 0.5
    """Weight of the alignment."""
    kernel: Literal["inner", "gaussian"] = "inner"
    """How near two vectors are: by their inner product (inner), or by their distance (gaussian)."""
    width: Positive = 1.0
    """The width 2σ² of the Gaussian kernel."""
    scale: Positive = 1.0
    """The kernel is multiplied with it before the softmax: the inverse temperature."""
    answer_question: NonNegative = 0.5
    """Weight of the term of p(answer | question)."""
    question_answer: NonNegative = 0.5
    """Weight of the term of p(question | answer)."""
    question_question: NonNegative = 1e4
    """Weight of the term of p(question | question)."""
    answer_answer: NonNegative = 1e4
    """Weight of the term of p(answer | answer)."""
    ramp_epochs: NonNegative = 5.0
    """Epochs over which these four rise from 0."""
    detach: bool = True
    """The cross-encoder is only a target of the alignment, and learns nothing by it."""
    keep_cross: bool = False
    """Save the cross-encoder, too, in the folder cross/ beside the model: to look at what it taught."""
