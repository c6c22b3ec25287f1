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
    """SQuAD or MRQA file, of which the held-out articles are passed over. A passage that stands in several files is seen
    as one of the first that holds it, with its questions of all."""
    passages: Count | None = None
    """Passages drawn for each epoch; without it, all of them."""


class ExtractorRecipe(Recipe):
    """How an extractor is trained: which spans of a passage people ask about."""

    kind: Literal["extractor"]
    """What is trained."""
    backbone: str = DEFAULT_READER
    """The model to begin with: an encoder or a reader, a name or a folder."""
    data: Annotated[tuple[ExtractorData, ...], Field(min_length=1)]
    """The files to learn from."""
    dev_metric: Literal["f1"] = "f1"
    """What is measured on dev: F1 of as many best spans of a window as were asked about."""
    loss: Annotated[str, OneOf(EXTRACTOR_LOSSES)] = "softmax"
    """Each span that was asked about against all spans of its window (softmax), or each span by itself, with others drawn at
    random (cross_entropy)."""
    negatives: Count = 50
    """Other spans drawn for each span that was asked about (cross_entropy)."""
    max_tokens: WindowTokens = 256
    """Tokens of a window."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens that two windows of a long passage share."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest span."""
    freeze_embeddings: bool = True
    """Keep the backbone's embeddings as they are."""
    frozen_layers: Annotated[int, Field(ge=0)] = 0
    """The backbone's lowest layers that are kept as they are."""
    dropout: Share = 0.1
    """Dropout."""
    attention_dropout: Share = 0.0
    """Dropout of attention weights, which costs a fifth of the speed on a processor."""

    @property
    def parts(self) -> list[ExtractorData]:
        """The files to learn from, with their paths."""
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
