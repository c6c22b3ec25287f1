"""The tables ``[alignment]`` and ``[variational]`` of a retriever's recipe: what learns beside the dual encoder."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.training.sections import NonNegative, Section

Positive = Annotated[float, Field(gt=0)]


_TERMS = ("answer_question", "question_answer", "question_question", "answer_answer")


class Alignment(Section):
    """How a cross-encoder is trained beside the dual encoder, and its geometry passed on (Wang et al. 2021)."""

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
    scale: Positive | None = None
    """The kernel is multiplied by it before the softmax: the inverse temperature; without it, the recipe's scale."""
    answer_question: NonNegative = 0.5
    """Weight of the term of the answers around a question."""
    question_answer: NonNegative = 0.5
    """Weight of the term of the questions around an answer."""
    question_question: NonNegative = 0.5
    """Weight of the term of the questions around a question; the paper's is 1e4."""
    answer_answer: NonNegative = 0.5
    """Weight of the term of the answers around an answer; the paper's is 1e4, too."""
    ramp_epochs: NonNegative = 1.0
    """Epochs over which the weights of the four terms rise from 0 to their full values; in the paper 5."""
    detach: bool = True
    """Keep the alignment from training the cross-encoder, which then is only its target."""
    keep_cross: bool = False
    """Save the cross-encoder, too, in the folder cross/ beside the model: to look at what it taught."""

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        if not self.dual_share + self.cross_share + self.share:
            raise ValueError("dual_share, cross_share and share are all 0: nothing would be learned")
        if not self.dual_share + self.share:
            raise ValueError("dual_share and share are 0: the dual encoder would not learn")
        if not self.answer_question + self.question_answer + self.question_question + self.answer_answer:
            raise ValueError("the weights of all four terms are 0: set share=0 to leave the alignment out")
        if not self.cross_share and (self.detach or not self.share):
            raise ValueError(
                "cross_share = 0 leaves the cross-encoder as it begins: set it above 0, or detach=false and share above 0"
            )
        for key in ("kernel", "width", "scale", *_TERMS, "ramp_epochs", "detach"):
            self._refuse_ignored(key, self.share > 0, "share above 0")
        self._refuse_ignored("width", self.kernel == "gaussian", "kernel=gaussian")
        return self


class Variational(Section):
    """How decoders are trained that generate the texts of a pair from its vectors: a GRU of width 512 for each side, which
    reads the first 48 tokens with a quarter of them blanked."""

    kind: Literal["dual", "cross"]
    """Each vector generates its own text (dual, Shen et al. 2018), or that of the other side (cross, Yu et al. 2020)."""
    reconstruction_weight: NonNegative = 0.05
    """Weight of the texts' negative log-likelihood, in nats of a pair."""
    kl_weight: NonNegative = 0.005
    """Weight of the divergence of the latent vectors from the prior, in nats of a pair."""
    ramp_epochs: NonNegative = 1.0
    """Epochs over which kl_weight rises from 0."""

    @model_validator(mode="after")
    def _teaches(self) -> Self:
        if not self.reconstruction_weight + self.kl_weight:
            raise ValueError("reconstruction_weight and kl_weight are 0: leave [variational] out")
        self._refuse_ignored("ramp_epochs", self.kl_weight > 0, "kl_weight above 0")
        return self
