"""The recipe of a reader; ``oreqa train reader --help`` lists the keys."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from oreqa.core import Mode
from oreqa.defaults import BASE_ENCODER
from oreqa.models.reader.inputs import MAX_ANSWER_TOKENS
from oreqa.training.losses import READER_LOSSES, OneOf
from oreqa.training.recipes import Count, FilePart, LoraRecipe, NonNegative, Share, WindowTokens


class DataPart(FilePart):
    """A file to train a reader on."""

    file: Path
    """SQuAD or MRQA file, without its held-out articles; with index, also a question list."""
    questions: Count | None = None
    """Questions drawn for each epoch; by default all of them."""
    asked: Literal["all", "answerable", "unanswerable"] = "all"
    """Which questions are used: all, those that their paragraph answers, or those that it does not."""


class ReaderRecipe(LoraRecipe):
    """How a reader is trained: which span answers, and which passage contains it."""

    kind: Literal["reader"]
    """What is trained."""
    backbone: str = BASE_ENCODER
    """The model to start from: a name or a folder."""
    data: Annotated[tuple[DataPart, ...], Field(min_length=1)]
    """The training files."""
    index: Path | None = None
    """The index whose passages are read, for training and dev; by default, passages come from each question's own file."""
    mode: Mode = "hybrid"
    """How the index is searched: by vectors (dense), by BM25 (sparse), or by both (hybrid)."""
    dev_metric: Literal["em", "f1"] = "em"
    """The metric on dev: exact match, or word F1.

    Each question is asked of its own paragraph, or of passages of the index.
    """
    dev_passages: Count = 5
    """Passages of the index read for each question of dev."""
    loss: Annotated[str, OneOf(READER_LOSSES)] = "shared"
    """Spans are normalised inside each passage (dpr), or over all passages of a question (shared); both learn passage
    selection."""
    supervision: Literal["given", "distant"] = "given"
    """The annotated offsets (given), or every occurrence of an answer in the passages from BM25 or the index (distant)."""
    negatives: NonNegative = 0.2
    """Mean number of retrieved passages without the answer besides the positive."""
    unanswerable: Share = 0.1
    """Share of the questions that are also asked of such passages only."""
    depth: Count = 20
    """Passages retrieved for each question."""
    max_tokens: WindowTokens = 256
    """Tokens of a window in training."""
    read_tokens: WindowTokens | None = None
    """Tokens per window of the trained reader; by default max_tokens."""
    overlap: Annotated[int, Field(ge=0)] = 64
    """Tokens shared by consecutive windows of a long passage."""
    answer_tokens: Count = MAX_ANSWER_TOKENS
    """The longest answer of the trained reader."""
    dropout: Share | None = None
    """Dropout; by default the backbone's."""
    attention_dropout: Share | None = None
    """Dropout of attention weights, which costs a fifth of the speed on a CPU; by default dropout."""

    @property
    def parts(self) -> list[DataPart]:
        """The training files, with full paths."""
        return self._rooted(self.data)

    @property
    def null(self) -> bool:
        """Whether the selection learns that no passage may answer."""
        return self.unanswerable > 0

    def _data_files(self) -> Iterable[Path]:
        return (part.file for part in self.data)

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        self._refuse_overlap(self.overlap, min(self.max_tokens, self.read_tokens or self.max_tokens))
        return self

    @model_validator(mode="after")
    def _no_key_is_ignored(self) -> Self:
        retrieves = self.negatives > 0 or self.unanswerable > 0 or self.supervision == "distant"
        self._refuse_ignored("depth", retrieves, "negatives or unanswerable above 0, or supervision=distant")
        self._refuse_ignored("mode", self.index is not None, "index")
        self._refuse_ignored("dev_passages", self.index is not None and self.dev is not None, "index and dev")
        if self.index is not None and self.supervision != "distant":
            raise ValueError("no offsets are given in the passages of an index: set supervision=distant")
        if self.index is not None and any(part.asked != "all" for part in self.data):
            raise ValueError("questions with an answer are asked of an index: leave asked out")
        return self
