"""The recipe of a question generator; ``oreqa train generator --help`` lists the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from oreqa.defaults import BASE_ENCODER
from oreqa.models.names import GENERATOR
from oreqa.training.recipes import Count, FilePart, Recipe, Share


class GeneratorData(FilePart):
    """A file to train a question generator on."""

    file: Path
    """SQuAD or MRQA file, or pairs of a question and an answer, optionally with a context. Paragraphs held out in any of the
    files are skipped, and so are silver pairs."""
    style: str
    """The kind of its questions; files can share a style."""
    questions: Count | None = None
    """Questions drawn for each epoch; by default all of them."""


class GeneratorRecipe(Recipe):
    """How a question generator is trained: from an answer in its context to the question."""

    kind: Literal["generator"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to start from: a name or a folder."""
    data: Annotated[tuple[GeneratorData, ...], Field(min_length=1)]
    """The training files."""
    dev_metric: Literal["loss"] = "loss"
    """The metric on dev, which has the format and style of the first file: the loss per question token, without
    smoothing."""
    max_tokens: Annotated[int, Field(ge=32, le=480)] = 128
    """Tokens of title, context and answer."""
    question_tokens: Annotated[int, Field(ge=8, le=128)] = 32
    """Tokens of a question; longer ones are truncated."""
    label_smoothing: Share = 0.1
    """Share of the probability that training spreads over all tokens."""
    dropout: Share = 0.1
    """Dropout."""
    attention_dropout: Share = 0.0
    """Dropout of attention weights, which costs a fifth of the speed on a CPU."""

    @property
    def styles(self) -> tuple[str, ...]:
        """The distinct styles of the files, in order."""
        return tuple(dict.fromkeys(part.style for part in self.data))

    @property
    def untitled(self) -> tuple[str, ...]:
        """The styles learned without titles in any file."""
        titled = {part.style for part in self.data if part.titles}
        return tuple(style for style in self.styles if style not in titled)

    @property
    def parts(self) -> list[GeneratorData]:
        """The training files, with full paths."""
        return self._rooted(self.data)

    def _data_files(self) -> Iterable[Path]:
        return (part.file for part in self.data)

    def folder_settings(self, learned: Mapping[str, Any]) -> dict[str, Any]:
        """Return the trained model's settings for config.json.

        They include the styles it ``learned`` before with the same settings, which keep their tokens.
        """
        untitled = [style for style in learned.get("untitled", []) if style not in self.styles]
        return {
            "kind": GENERATOR,
            "styles": list(dict.fromkeys([*learned.get("styles", []), *self.styles])),
            "untitled": [*untitled, *self.untitled],
            "max_tokens": self.max_tokens,
            "question_tokens": self.question_tokens,
        }
