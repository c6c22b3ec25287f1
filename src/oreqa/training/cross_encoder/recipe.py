"""The recipes of the answer classifier and the span re-ranker, which are one model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import BASE_ENCODER
from oreqa.training.losses import CROSS_ENCODER_LOSSES, OneOf
from oreqa.training.recipes import Count, InputTokens, LoraRecipe, Share, WindowTokens


class CrossEncoderRecipe(LoraRecipe):
    """The keys shared by the recipes of classifier and re-ranker."""

    epochs: Count = 1
    """How often each question is seen."""
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """Number of its lowest layers to freeze: less to learn from few examples, and faster steps."""
    dropout: Share = 0.1
    """Dropout."""

    @model_validator(mode="after")
    def _dev_is_not_learned_from(self) -> Self:
        if self.dev in tuple(self._data_files()):  # all of it is: such a file has no held-out part
            raise ValueError(f"dev = {self.dev} is learned from, too; name a file of other questions")
        return self

    @model_validator(mode="after")
    def _frozen_layers_stand_on_frozen_embeddings(self) -> Self:
        if self.frozen_layers and not self.freeze_embeddings:
            raise ValueError(
                "frozen layers need the embeddings they were trained with; set freeze_embeddings=true, or frozen_layers=0"
            )
        return self


class RerankerRecipe(CrossEncoderRecipe):
    """How a span re-ranker is trained, on a reader's predictions (oreqa mine predictions)."""

    kind: Literal["reranker"]
    """What is trained."""
    reader: str
    """The reader that made the predictions, a name or a folder; training starts from its weights and a new head."""
    backbone: str | None = None
    """A re-ranker to start from instead, as in the paper for small sets."""
    predictions: Path
    """The file of predictions."""
    dev_metric: Literal["em", "mrr"] = "em"
    """The metric on dev, a file of predictions: how often the first span is right, or the mean reciprocal rank of the first
    right one."""
    loss: Annotated[str, OneOf(CROSS_ENCODER_LOSSES)] = "listwise_softmax"
    """The right span against the wrong ones of its question (listwise_softmax), or each span independently
    (cross_entropy)."""
    candidates: Annotated[int, Field(ge=2)] = 30
    """Spans compared per question, the paper's M: one right, the others wrong."""
    pool: Count = 100
    """The number of the reader's best wrong spans to draw from."""
    marking: Literal["marked", "unmarked", "appended"] = "marked"
    """How a span is presented: marked in its passage, not marked, or appended to the question."""
    max_tokens: WindowTokens = 240
    """Tokens of an input."""

    def _data_files(self) -> Iterable[Path]:
        return [self.predictions]


class ClassifierRecipe(CrossEncoderRecipe):
    """How a classifier is trained: does a sentence answer a question?"""

    kind: Literal["classifier"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to start from, a name or a folder: an encoder, a reader, or a classifier, which keeps its head."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Pair files with negatives (oreqa mine negatives)."""
    dev_metric: Literal["mrr", "auc"] = "mrr"
    """The metric on dev, a file of pairs with negatives: the mean reciprocal rank of the answer among its negatives, or how
    often any answer is above any negative (the area under the ROC curve)."""
    plausible: tuple[Path, ...] = ()
    """SQuAD 2.0 files of questions that their paragraph does not answer.

    The sentences of their plausible answers, which look right and are not, are additional negatives (cross_entropy).
    """
    loss: Annotated[str, OneOf(CROSS_ENCODER_LOSSES)] = "cross_entropy"
    """Each sentence independently (cross_entropy), or the answer against the negatives of its question
    (listwise_softmax)."""
    marking: Literal["alone", "marked"] = "alone"
    """How a sentence is presented: alone, as in Yang et al., or marked in as much of its passage as max_tokens allows."""
    max_tokens: InputTokens = 128
    """Tokens of an input."""

    def _data_files(self) -> Iterable[Path]:
        return (*self.data, *self.plausible)

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        self._refuse_ignored("plausible", self.loss == "cross_entropy", "loss=cross_entropy")
        return self
