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
    """SQuAD or MRQA file, or pairs of a question and an answer, which may stand in a context. Paragraphs that are held out
    in any of the files are passed over, and so are silver pairs."""
    style: str
    """The kind of its questions; files of the same style share it."""
    questions: Count | None = None
    """Questions drawn for each epoch; without it, all of them."""


class GeneratorRecipe(Recipe):
    """How a question generator is trained: from an answer in its context to the question."""

    kind: Literal["generator"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to begin with: a name or a folder."""
    data: Annotated[tuple[GeneratorData, ...], Field(min_length=1)]
    """The files to learn from."""
    dev_metric: Literal["loss"] = "loss"
    """What is measured on dev, which has the form and the style of the first file: the loss of a question's token, without
    smoothing."""
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
    def parts(self) -> list[GeneratorData]:
        """The files to learn from, with their paths."""
        return self._rooted(self.data)

    def _data_files(self) -> Iterable[Path]:
        return (part.file for part in self.data)

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
