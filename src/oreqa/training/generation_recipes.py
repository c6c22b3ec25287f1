"""Recipes of the models that ask: what to ask about, and how."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from oreqa.defaults import BASE_ENCODER, DEFAULT_READER
from oreqa.models.folders import GENERATOR
from oreqa.models.reader.folder import MAX_ANSWER_TOKENS
from oreqa.training.sections import Count, Optimiser, Section, Seed, Share

ExtractorLoss = Literal["softmax", "cross_entropy"]
"""Names in ``training.losses``."""


class GeneratorData(Section):
    """A file to train a question generator on."""

    file: Path
    """SQuAD or MRQA file, or pairs of a question and an answer, which may stand in a context. Paragraphs that are held out
    in any of the files are passed over, and so are silver pairs."""
    style: str
    """The kind of its questions; files of the same style share it."""
    epochs: Count = 1
    """How often its questions are seen."""
    questions: Count | None = None
    """Questions drawn for each epoch; without it, all of them."""
    titles: bool = True
    """Whether the paragraphs' titles mean anything to a reader."""


class GeneratorRecipe(Section):
    """How a question generator is trained: from an answer in its context to the question."""

    kind: Literal["generator"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to begin with: a name or a folder."""
    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    data: Annotated[tuple[GeneratorData, ...], Field(min_length=1)]
    """The files to learn from."""
    max_tokens: Annotated[int, Field(ge=32, le=480)] = 128
    """Tokens of title, context and answer."""
    question_tokens: Annotated[int, Field(ge=8, le=128)] = 32
    """Tokens of a question; longer ones are cut."""
    label_smoothing: Share = 0.1
    """Share of the probability that training spreads over all tokens."""
    dropout: Share = 0.1
    """Dropout."""
    attention_dropout: Share = 0.0
    """Dropout of attention weights, which costs a fifth of the speed on a processor."""
    seed: Seed = 0
    """What is random is drawn by it."""
    optimiser: Optimiser
    """The optimiser."""

    @property
    def styles(self) -> tuple[str, ...]:
        """The styles of the files, each once, in their order."""
        return tuple(dict.fromkeys(part.style for part in self.data))

    @property
    def untitled(self) -> tuple[str, ...]:
        """The styles that are learned without a title in any file."""
        titled = {part.style for part in self.data if part.titles}
        return tuple(style for style in self.styles if style not in titled)

    @property
    def files(self) -> list[Path]:
        """What the run learns from."""
        return [self.data_root / part.file for part in self.data]

    def folder_settings(self, learned: Mapping[str, Any]) -> dict[str, Any]:
        """What the trained model's config.json says of it: with the styles that it ``learned`` before, by the same
        settings, which keep their tokens."""
        untitled = [style for style in learned.get("untitled", []) if style not in self.styles]
        return {
            "kind": GENERATOR,
            "styles": list(dict.fromkeys([*learned.get("styles", []), *self.styles])),
            "untitled": [*untitled, *self.untitled],
            "max_tokens": self.max_tokens,
            "question_tokens": self.question_tokens,
        }


class ExtractorData(Section):
    """A file to train an extractor on."""

    file: Path
    """SQuAD or MRQA file, of which the held-out articles are passed over. A passage that stands in several files is seen
    as one of the first that holds it, with its questions of all."""
    epochs: Count = 1
    """How often its passages are seen."""
    passages: Count | None = None
    """Passages drawn for each epoch; without it, all of them."""
    titles: bool = True
    """Whether the paragraphs' titles mean anything to a reader."""


class ExtractorRecipe(Section):
    """How an extractor is trained: which spans of a passage people ask about."""

    kind: Literal["extractor"]
    """What is trained."""
    backbone: str = DEFAULT_READER
    """The model to begin with: an encoder or a reader, a name or a folder."""
    data_root: Path = Path()
    """Folder that the data files' paths begin at."""
    data: Annotated[tuple[ExtractorData, ...], Field(min_length=1)]
    """The files to learn from."""
    loss: ExtractorLoss = "softmax"
    """Each span that was asked about against all spans of its window (softmax), or each span by itself, with others drawn at
    random (cross_entropy)."""
    negatives: Count = 50
    """Other spans drawn for each span that was asked about (cross_entropy)."""
    max_tokens: Annotated[int, Field(ge=32, le=512)] = 256
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
        self._refuse_overlap(self.overlap, self.max_tokens)
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        self._refuse_ignored("negatives", self.loss == "cross_entropy", "loss=cross_entropy")
        return self
