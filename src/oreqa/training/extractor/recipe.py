"""The recipe of an answer extractor; ``oreqa train extractor --help`` lists the keys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import DEFAULT_READER
from oreqa.models.reader.inputs import MAX_ANSWER_TOKENS
from oreqa.training.losses import EXTRACTOR_LOSSES, OneOf
from oreqa.training.recipes import Count, FilePart, Recipe, Share, WindowTokens


class ExtractorData(FilePart):
    """A file to train an extractor on."""

    file: Path
    """SQuAD or MRQA file, without its held-out articles. A passage in several files belongs to the first one, with its
    questions from all."""
    passages: Count | None = None
    """Passages drawn for each epoch; by default all of them."""


class ExtractorRecipe(Recipe):
    """How an extractor is trained: which spans of a passage people ask about."""

    kind: Literal["extractor"]
    """What is trained."""
    backbone: str = DEFAULT_READER
    """The model to start from: an encoder or a reader, a name or a folder."""
    data: Annotated[tuple[ExtractorData, ...], Field(min_length=1)]
    """The training files."""
    dev_metric: Literal["f1"] = "f1"
    """The metric on dev: F1 of a window's best spans, as many as were asked about."""
    loss: Annotated[str, OneOf(EXTRACTOR_LOSSES)] = "softmax"
    """Each span that was asked about against all spans of its window (softmax), or each span independently, with others
    drawn at random (cross_entropy)."""
    negatives: Count = 50
    """Other spans drawn for each span that was asked about (cross_entropy)."""
    max_tokens: WindowTokens = 256
    """Tokens of a window."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens shared by consecutive windows of a long passage."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest span."""
    freeze_embeddings: bool = True
    """Freeze the backbone's embeddings."""
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """Number of the backbone's lowest layers to freeze."""
    dropout: Share = 0.1
    """Dropout."""
    attention_dropout: Share = 0.0
    """Dropout of attention weights, which costs a fifth of the speed on a CPU."""

    @property
    def parts(self) -> list[ExtractorData]:
        """The training files, with full paths."""
        return self._rooted(self.data)

    def _data_files(self) -> Iterable[Path]:
        return (part.file for part in self.data)

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        self._refuse_overlap(self.overlap, self.max_tokens)
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        self._refuse_ignored("negatives", self.loss == "cross_entropy", "loss=cross_entropy")
        return self
