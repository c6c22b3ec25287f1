"""Recipes: what a training run is made of. The one place of its defaults; ``oreqa train KIND --help`` lists the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import BASE_ENCODER
from oreqa.models.reader.folder import MAX_ANSWER_TOKENS
from oreqa.training.generation_recipes import ExtractorRecipe, GeneratorRecipe
from oreqa.training.openqa_recipe import OpenQARecipe
from oreqa.training.retriever_recipe import RetrieverRecipe
from oreqa.training.sections import Count, NonNegative, Optimiser, Section, Seed, Share, Tokens

ReaderLoss = Literal["dpr", "shared"]
CrossEncoderLoss = Literal["cross_entropy", "listwise_softmax"]
"""Names in ``training.losses``."""


class DataPart(Section):
    """A file to train a reader on."""

    file: Path
    """SQuAD or MRQA file, of which the held-out articles are passed over."""
    epochs: Count = 1
    """How often its questions are seen."""
    questions: Count | None = None
    """Questions drawn for each epoch; without it, all of them."""
    asked: Literal["all", "answerable", "unanswerable"] = "all"
    """Which questions are taken: all, those that their paragraph answers, or those that it does not."""
    titles: bool = True
    """Whether the paragraphs' titles mean anything to a reader."""


class ReaderRecipe(Section):
    """How a reader is trained: which span answers, and which passage holds it."""

    kind: Literal["reader"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to begin with: a name or a folder."""
    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    data: Annotated[tuple[DataPart, ...], Field(min_length=1)]
    """The files to learn from."""
    loss: ReaderLoss = "shared"
    """Spans are normalised inside each passage (dpr), or over all passages of a question (shared); both learn to select the
    passage."""
    supervision: Literal["given", "distant"] = "given"
    """The annotated offsets (given), or every occurrence of an answer in the passages that BM25 retrieves (distant)."""
    negatives: NonNegative = 0.2
    """Mean number of retrieved passages without the answer beside the positive."""
    unanswerable: Share = 0.1
    """Share of the questions that are also asked of such passages alone."""
    depth: Count = 20
    """Passages retrieved for each question."""
    max_tokens: Annotated[int, Field(ge=32, le=512)] = 256
    """Tokens of a window in training."""
    read_tokens: Annotated[int, Field(ge=32, le=512)] | None = None
    """Tokens of a window that the trained reader reads; without it, max_tokens."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens that two windows of a long passage share."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest answer of the trained reader."""
    freeze_embeddings: bool = True
    """Keep the backbone's embeddings as they are."""
    dropout: Share | None = None
    """Dropout; without it, the backbone's."""
    attention_dropout: Share | None = None
    """Dropout of attention weights, which costs a fifth of the speed on a processor; without it, dropout."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / part.file for part in self.data]

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        self._refuse_overlap(self.overlap, min(self.max_tokens, self.read_tokens or self.max_tokens))
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        retrieves = self.negatives > 0 or self.unanswerable > 0 or self.supervision == "distant"
        self._refuse_ignored("depth", retrieves, "negatives or unanswerable above 0, or supervision=distant")
        return self


class CrossEncoderRecipe(Section):
    """What the recipes of classifier and re-ranker share."""

    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    epochs: Count = 1
    """How often each question is seen."""
    freeze_embeddings: bool = True
    """Keep the embeddings of the model to begin with as they are."""
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """Its lowest layers that are kept as they are: less to learn from few examples, and faster steps."""
    dropout: Share = 0.1
    """Dropout."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @model_validator(mode="after")
    def _frozen_layers_stand_on_frozen_embeddings(self) -> Self:
        if self.frozen_layers and not self.freeze_embeddings:
            raise ValueError(
                "frozen layers need the embeddings they were trained with; set freeze_embeddings=true, or frozen_layers=0"
            )
        return self


class RerankerRecipe(CrossEncoderRecipe):
    """How a span re-ranker is trained, on what a reader predicted (oreqa mine predictions)."""

    kind: Literal["reranker"]
    """What is trained."""
    reader: str
    """The reader that made the predictions, a name or a folder; training begins with its weights and a new head."""
    backbone: str | None = None
    """A re-ranker to begin with instead, as the paper does for small sets."""
    predictions: Path
    """The file of predictions."""
    loss: CrossEncoderLoss = "listwise_softmax"
    """The right span against the wrong ones of its question (listwise_softmax), or each span by itself (cross_entropy)."""
    candidates: Annotated[int, Field(ge=2)] = 30
    """Spans of a question that are compared, the paper's M: one right, the others wrong."""
    pool: Count = 100
    """The reader's best wrong spans, from which the wrong ones are drawn."""
    marking: Literal["marked", "unmarked", "appended"] = "marked"
    """How a span is shown: marked in its passage, not marked, or appended to the question."""
    max_tokens: Annotated[int, Field(ge=32, le=512)] = 240
    """Tokens of an input."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / self.predictions]


class ClassifierRecipe(CrossEncoderRecipe):
    """How a classifier is trained: does a sentence answer a question?"""

    kind: Literal["classifier"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to begin with, a name or a folder: an encoder, a reader, or a classifier, which keeps its head."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Pair files with negatives (oreqa mine negatives)."""
    plausible: tuple[Path, ...] = ()
    """SQuAD 2.0 files of questions that their paragraph does not answer. The sentences of its plausible answers, which look
    right and are not, are further negatives (cross_entropy)."""
    loss: CrossEncoderLoss = "cross_entropy"
    """Each sentence by itself (cross_entropy), or the answer against the negatives of its question (listwise_softmax)."""
    marking: Literal["alone", "marked"] = "alone"
    """How a sentence is shown: alone, as Yang et al. do, or marked in as much of its passage as max_tokens hold."""
    max_tokens: Tokens = 128
    """Tokens of an input."""

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / part for part in (*self.data, *self.plausible)]

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        self._refuse_ignored("plausible", self.loss == "cross_entropy", "loss=cross_entropy")
        return self


Recipe = (
    ReaderRecipe | RerankerRecipe | ClassifierRecipe | RetrieverRecipe | OpenQARecipe | GeneratorRecipe | ExtractorRecipe
)

RECIPES: dict[str, type[Recipe]] = {
    "reader": ReaderRecipe,
    "reranker": RerankerRecipe,
    "classifier": ClassifierRecipe,
    "retriever": RetrieverRecipe,
    "openqa": OpenQARecipe,
    "generator": GeneratorRecipe,
    "extractor": ExtractorRecipe,
}
"""The recipe of each kind of model."""
