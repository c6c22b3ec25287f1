"""The recipe for fine-tuning a question encoder and a reader together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import BASE_ENCODER, DEFAULT_READER
from oreqa.models.reader.inputs import MAX_ANSWER_TOKENS
from oreqa.training.losses import OPENQA_LOSSES, OneOf
from oreqa.training.recipes import Count, Recipe, Share, WindowTokens


class OpenQARecipe(Recipe):
    """How a question encoder and a reader are fine-tuned together, on what the encoder retrieves (Xiong et al. 2021).

    The passage encoder, and so the passages' vectors, are fixed.
    """

    kind: Literal["openqa"]
    """What is trained."""
    retriever: str = BASE_ENCODER
    """The encoder to start from, a name or a folder: one for questions and one for passages, or one for both, which is
    copied for the questions."""
    reader: str = DEFAULT_READER
    """The reader to start from, a name or a folder; another BERT folder gets new heads."""
    index: Path | None = None
    """The index of the passages, made with the retriever; required unless corpus is set."""
    corpus: Path | None = None
    """A SQuAD or MRQA file or a BEIR folder instead, whose paragraphs or documents are the passages."""
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    """The training questions: question lists with answers or patterns, or SQuAD or MRQA files, without their held-out
    articles."""
    dev: Path
    """Questions for choosing lambda: a question list, or the held-out articles of a SQuAD or MRQA file."""
    dev_metric: Literal["em"] | None = None
    """Measure exact match with the best lambda at every checkpoint, and keep the best checkpoint. Without it, the last is
    kept."""
    work: Path | None = None
    """Folder for what is prepared once: the vectors of corpus, and the questions' matches. Runs with the same corpus,
    questions and retriever can share it; by default, the folder work in the model's."""
    epochs: Count = 1
    """How often each question is seen."""
    loss: Annotated[str, OneOf(OPENQA_LOSSES)] = "shared"
    """What the reader learns, beside the question encoder's early loss: spans normalised over all passages read
    (shared), also times the passage's probability (shared_joint) or also with a head that re-ranks the passages
    (shared_rerank); spans normalised inside each passage, times the passage's probability (joint) or without it
    (separate)."""
    passages: Count = 5
    """Passages read for each question."""
    early_depth: Count = 5000
    """Retrieved passages that the early loss compares."""
    match_depth: Count = 10000
    """Passages retrieved before fine-tuning that are searched for answers in advance."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Factor of inner products before the softmax; an encoder of unit vectors needs more than 1."""
    skip_unread: bool = True
    """Skip a question at steps where no passage read contains an answer, as in the paper; otherwise the early loss still
    learns from it, as in the released code."""
    max_tokens: WindowTokens = 256
    """Tokens of a window in training."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens shared by consecutive windows of a long passage."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest answer of the trained reader."""
    freeze_embeddings: bool = True
    """Freeze the embeddings of both."""
    dropout: Share = 0.1
    """Dropout; it also applies when questions are retrieved."""
    attention_dropout: Share | None = None
    """Dropout of the reader's attention weights, which costs a third of the speed on a CPU; by default dropout."""

    def _data_files(self) -> Iterable[Path]:
        return (*self.data, *([self.corpus] if self.corpus else []))

    @property
    def is_shared(self) -> bool:
        """Whether spans are normalised over all passages."""
        return self.loss.startswith("shared")

    @model_validator(mode="after")
    def _patience_needs_a_metric(self) -> Self:
        self._refuse_ignored("patience", self.dev_metric is not None, "dev_metric=em")
        return self

    @model_validator(mode="after")
    def _passages_are_named_once(self) -> Self:
        if (self.index is None) == (self.corpus is None):
            raise ValueError("name the passages by either index or corpus")
        return self

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        self._refuse_overlap(self.overlap, self.max_tokens)
        return self

    @model_validator(mode="after")
    def _depths_follow_each_other(self) -> Self:
        if not self.passages <= self.early_depth <= self.match_depth:
            raise ValueError("passages may be at most early_depth, and that at most match_depth")
        return self
