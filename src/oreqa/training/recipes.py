"""Recipes: what a training run is made of, read from TOML and checked before anything starts."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from oreqa.defaults import DEFAULT_ENCODER
from oreqa.errors import InputError
from oreqa.models.reader.folder import MAX_ANSWER_TOKENS

Share = Annotated[float, Field(ge=0, le=1)]
Tokens = Annotated[int, Field(ge=32, le=512)]


class _Checked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataPart(_Checked):
    """A training file (SQuAD or MRQA) and how often its questions are seen.

    ``questions`` of them are drawn anew for each epoch, all of them if it is left out. ``asked`` says which questions are
    taken: all, or only those that their paragraph answers, or does not. ``titles`` says whether the paragraphs' titles mean
    anything to a reader.
    """

    file: Path
    epochs: Annotated[int, Field(ge=1)] = 1
    questions: Annotated[int, Field(ge=1)] | None = None
    asked: Literal["all", "answerable", "unanswerable"] = "all"
    titles: bool = True


class Optimiser(_Checked):
    """AdamW with warm-up, then linear decay or a constant rate; the heads may learn at a rate of their own.

    ``precision`` auto is bf16 where the hardware multiplies it, else f32. ``tensorboard`` writes its events, too (needs the
    package of that name).
    """

    learning_rate: Annotated[float, Field(gt=0)]
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    batch: Annotated[int, Field(ge=1)]
    warmup: Share = 0.06
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    schedule: Literal["linear", "constant"] = "linear"
    clip: Annotated[float, Field(gt=0)] = 1.0
    precision: Literal["auto", "bf16", "f32"] = "auto"
    checkpoint_steps: Annotated[int, Field(ge=1)] = 200
    tensorboard: bool = False


class ReaderRecipe(_Checked):
    """How a reader is trained.

    ``objective`` ``dpr`` normalises spans inside each passage, ``shared`` over all passages of a question; both learn to
    select the passage. ``supervision`` ``given`` takes the annotated offsets, ``distant`` every occurrence of an answer
    in passages that BM25 retrieves. ``negatives`` is the mean number of retrieved passages without the answer that stand
    beside the positive; ``unanswerable`` the share of questions that are asked of such passages alone. ``max_tokens`` are
    those of a window in training, ``read_tokens`` those of one that the trained reader reads (the same unless given: BERT's
    positions were trained before, so they may be more). An answer has at most ``answer_tokens``. ``dropout`` of None is the
    backbone's; that of attention weights, as ``dropout`` unless given, costs a fifth of the speed on a processor.
    """

    kind: Literal["reader"]
    backbone: str = DEFAULT_ENCODER
    data_root: Path = Path()
    data: Annotated[tuple[DataPart, ...], Field(min_length=1)]
    objective: Literal["dpr", "shared"] = "shared"
    supervision: Literal["given", "distant"] = "given"
    negatives: Annotated[float, Field(ge=0)] = 0.2
    unanswerable: Share = 0.1
    depth: Annotated[int, Field(ge=1)] = 20
    max_tokens: Tokens = 256
    read_tokens: Tokens | None = None
    overlap: Annotated[int, Field(ge=0)] = 64
    answer_tokens: Annotated[int, Field(ge=1)] = MAX_ANSWER_TOKENS
    freeze_embeddings: bool = True
    dropout: Share | None = None
    attention_dropout: Share | None = None
    seed: int = 0
    optimiser: Optimiser

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        most = min(self.max_tokens, self.read_tokens or self.max_tokens) // 2
        if self.overlap > most:
            raise ValueError(f"overlap = {self.overlap} is more than half of a window; set it to at most {most}")
        return self


class _PartlyFrozen(_Checked):
    """What is kept of the model that training begins with."""

    freeze_embeddings: bool = True
    frozen_layers: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _frozen_layers_stand_on_frozen_embeddings(self) -> Self:
        if self.frozen_layers and not self.freeze_embeddings:
            raise ValueError("frozen layers need the embeddings they know; set freeze_embeddings=true, or frozen_layers=0")
        return self


class RerankerRecipe(_PartlyFrozen):
    """How a span re-ranker is trained, from the reader whose ``predictions`` were mined.

    ``candidates`` is the paper's M: one right prediction and M - 1 wrong ones a question, drawn from the reader's best
    ``pool`` wrong ones. ``marking`` is how the span is shown. Training begins with the reader's weights and a new head, or
    with the re-ranker ``backbone``, as the paper does for small sets. ``frozen_layers`` of it, from below, are kept as they
    are, so that both models share them; ``freeze_embeddings`` keeps its embeddings, too, as frozen layers need.
    """

    kind: Literal["reranker"]
    reader: str
    backbone: str | None = None
    predictions: Path
    data_root: Path = Path()
    candidates: Annotated[int, Field(ge=2)] = 30
    pool: Annotated[int, Field(ge=1)] = 100
    epochs: Annotated[int, Field(ge=1)] = 1
    marking: Literal["marked", "unmarked", "appended"] = "marked"
    max_tokens: Tokens = 240
    dropout: Share = 0.1
    seed: int = 0
    optimiser: Optimiser


class ClassifierRecipe(_PartlyFrozen):
    """How a classifier is trained, on pair files with negatives (oreqa mine negatives).

    ``backbone`` is an encoder, or a reader; its lowest ``frozen_layers`` are kept as they are, and with
    ``freeze_embeddings``, as frozen layers need, its embeddings. ``marking`` is how a sentence is shown: ``alone``, as
    Yang et al. do, or ``marked`` in as much of its passage as ``max_tokens`` hold.
    """

    kind: Literal["classifier"]
    backbone: str = DEFAULT_ENCODER
    data_root: Path = Path()
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    epochs: Annotated[int, Field(ge=1)] = 1
    marking: Literal["alone", "marked"] = "alone"
    max_tokens: Annotated[int, Field(ge=16, le=512)] = 128
    dropout: Share = 0.1
    seed: int = 0
    optimiser: Optimiser


class RetrieverRecipe(_Checked):
    """How a dual encoder is trained, on the pairs of ``data``: SQuAD, MRQA or pair files, BEIR folders.

    ``context``: sentences are read in one pass over their passage (``late_chunking``), which is cheap, or each with its
    passage as second segment (``cross_segment``), as Yang et al. do.
    ``input_types`` adds their input-type embedding. ``mined`` says what a classifier's scores in pair files are used
    for: as silver ``positives`` (probability at least ``least``, weight ``p ** weight_power``), as ``soft`` labels that
    make up ``soft_share`` of the loss (of a question without gold the likeliest silver pair is the positive), or only to
    ``filter`` false negatives, which all three do. ``negatives`` more candidates a question are drawn from its hard
    ones. Batches of more than ``chunk`` inputs are encoded so many at a time, which takes a quarter more time and little
    memory (gradient caching). ``passage_weight`` is the part of a passage's own similarity in the score of its sentences.
    ``dev`` is a task whose MRR is measured at every checkpoint (a SQuAD or MRQA file's held-out articles, a BEIR folder's
    split dev): training stops when ``patience`` measures bring no gain, and keeps the best.
    """

    kind: Literal["retriever"]
    backbone: str = DEFAULT_ENCODER
    data_root: Path = Path()
    data: Annotated[tuple[Path, ...], Field(min_length=1)]
    dev: Path | None = None
    patience: Annotated[int, Field(ge=1)] = 3
    epochs: Annotated[int, Field(ge=1)] = 1
    context: Literal["late_chunking", "cross_segment"] = "late_chunking"
    pooling: Literal["cls", "mean"] = "mean"
    input_types: bool = False
    projection: Annotated[int, Field(ge=1)] | None = None
    scale: Annotated[float, Field(gt=0)] = 100.0
    passage_weight: Annotated[float, Field(ge=0)] = 0.37
    mined: Literal["positives", "soft", "filter"] = "positives"
    least: Share = 0.5
    weight_power: Annotated[float, Field(ge=0)] = 2.0
    soft_share: Share = 0.5
    negatives: Annotated[int, Field(ge=0)] = 0
    chunk: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=16, le=512)] = 256
    freeze_embeddings: bool = True
    dropout: Share | None = None
    seed: int = 0
    optimiser: Optimiser

    @model_validator(mode="after")
    def _soft_labels_are_several(self) -> Self:
        if self.mined == "soft" and not self.negatives:
            raise ValueError("mined = soft compares candidates of a question; set negatives to 1 or more, as in negatives=4")
        return self


R = TypeVar("R", bound=BaseModel)


def load_recipe(kind: type[R], path: Path, settings: Sequence[str] = ()) -> R:
    """Read a recipe. ``settings`` are ``name=value`` or ``table.name=value``, the value in TOML or a plain word.

    Raises InputError that names the file and the field.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such recipe") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: it cannot be read as TOML ({error})") from error
    for setting in settings:
        _set(content, setting)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the recipe"
        raise InputError(f"{path}: {place}: {first['msg'].removeprefix('Value error, ')}") from None


def _set(content: dict[str, Any], setting: str) -> None:
    name, sign, text = setting.partition("=")
    if not sign or not name:
        raise InputError(f"--set {setting!r}: write it as name=value, as in --set optimiser.batch=16")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    *tables, last = name.split(".")
    for table in tables:
        content = content.setdefault(table, {})
        if not isinstance(content, dict):
            raise InputError(f"--set {setting!r}: {table} is not a table of the recipe")
    content[last] = value
