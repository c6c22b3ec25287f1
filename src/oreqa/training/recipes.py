"""The base of all recipes, and how they are read from TOML and validated before anything starts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo

from oreqa.arguments import as_path, text_list
from oreqa.errors import InputError

_PACKAGE = Path(__file__).parents[1]

Share = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
InputTokens = Annotated[int, Field(ge=16, le=8192)]
WindowTokens = Annotated[int, Field(ge=32, le=8192)]
"""Tokens of a window, which contains more than one text. A backbone may have positions for fewer."""


class RecipeTable(BaseModel):
    """A recipe or one of its tables; its keys are validated, and unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    def _refuse_ignored(self, key: str, used: bool, needs: str) -> None:
        """Raise ValueError if the recipe sets a ``key``, even to its default, that is not ``used`` for lack of ``needs``."""
        if not used and key in self.model_fields_set:
            raise ValueError(f"{key} = {getattr(self, key)} would be ignored: it needs {needs}")

    @staticmethod
    def _refuse_overlap(overlap: int, tokens: int) -> None:
        """Raise ValueError if two windows of ``tokens`` tokens share more than half: windows must advance."""
        if overlap > tokens // 2:
            raise ValueError(f"overlap = {overlap} is more than half of a window; set it to at most {tokens // 2}")


class Optimiser(RecipeTable):
    """AdamW with warm-up, followed by linear decay or a constant rate."""

    learning_rate: Annotated[float, Field(gt=0)]
    """The peak learning rate."""
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """The learning rate of what is on top of the encoder, or beside it; by default the same. The layers of a new encoder use
    learning_rate."""
    batch: Count
    """Examples per batch, on each device."""
    accumulate: Count = 1
    """Batches per step, whose gradients are averaged."""
    warmup: Share = 0.06
    """Share of the steps during which the rate rises."""
    weight_decay: NonNegative = 0.01
    """Weight decay of matrices; biases and normalisation do not decay."""
    schedule: Literal["linear", "constant"] = "linear"
    """The rate after warm-up: decays linearly to 0, or stays constant."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """Maximum gradient norm of a step."""
    precision: Literal["auto", "bf16", "f32"] = "auto"
    """Precision of the computation; auto is $OREQA_PRECISION, else bf16 if the hardware multiplies it, else f32."""
    checkpoint_steps: Count = 200
    """Steps between checkpoints, from which an interrupted run resumes."""


class Lora(RecipeTable):
    """Trains low-rank factors (LoRA, Hu et al. 2022) beside the frozen layers of the backbone, together with the layers'
    biases and normalisation and the heads. The saved model is a small difference from the backbone."""

    rank: Count = 32
    """Rank of the factors."""
    alpha: Annotated[float, Field(gt=0)] | None = None
    """The factors' product is multiplied by alpha / rank; by default 1."""
    targets: tuple[str, ...] = ()
    """Names of the linear layers that get factors, such as query, value; by default all of them."""


class FilePart(RecipeTable):
    """A training file, with the keys of ``[[data]]`` entries common to all families."""

    file: Path
    epochs: Count = 1
    """How often it is seen."""
    titles: bool = True
    """Whether the paragraphs' titles are meaningful to a reader."""


P = TypeVar("P", bound=FilePart)


class Recipe(RecipeTable):
    """The keys shared by the recipes of all kinds of models."""

    data_root: Path = Path()
    """Folder that data file paths are relative to."""
    dev: Path | None = None
    """A file for early stopping: dev_metric is measured at every checkpoint, and the best one is kept; without it, the last.
    For a SQuAD or MRQA file, its held-out articles are used."""
    patience: Count = 3
    """Checkpoints without improvement on dev before training stops."""
    seed: Seed = 0
    """The random seed."""
    optimiser: Optimiser
    """The optimiser."""

    @property
    def files(self) -> list[Path]:
        """The files that the run reads."""
        return [self.data_root / file for file in (*self._data_files(), *([self.dev] if self.dev else []))]

    @property
    def dev_file(self) -> Path | None:
        """The path of ``dev``."""
        return self.data_root / self.dev if self.dev else None

    def _data_files(self) -> Iterable[Path]:
        """The training files, as named by the recipe."""
        raise NotImplementedError

    def _rooted(self, parts: Iterable[P]) -> list[P]:
        """Return the entries of ``[[data]]`` with their files' full paths."""
        return [part.model_copy(update={"file": self.data_root / part.file}) for part in parts]

    @model_validator(mode="after")
    def _dev_keys_need_dev(self) -> Self:
        for key in ("patience", "dev_metric"):
            self._refuse_ignored(key, self.dev is not None, "dev=FILE")
        return self


class LoraRecipe(Recipe):
    """The keys of recipes that may train low-rank factors instead of the backbone's weights."""

    freeze_embeddings: bool = True
    """Freeze the backbone's embeddings."""
    lora: Lora | None = None
    """Low-rank factors (LoRA), trained instead of the backbone's weights."""

    @model_validator(mode="after")
    def _factors_stand_on_frozen_embeddings(self) -> Self:
        if self.lora and not self.freeze_embeddings:
            raise ValueError("[lora] keeps the embeddings as they are: set freeze_embeddings=true, or leave [lora] out")
        return self


R = TypeVar("R", bound=Recipe)


def load_recipe(kind: type[R], path: str | Path, settings: str | Iterable[str] = ()) -> R:
    """Read a recipe. ``settings`` are ``name=value`` or ``table.name=value``, the value in TOML or a plain word.

    An empty value, as in ``alignment=``, removes a key or a table of the recipe. A path that does not exist, e.g.
    ``recipes/small/reader.toml``, is looked up among the recipes that come with oreqa.

    Raises InputError naming the file and the key.
    """
    path, changes = as_path(path, "a recipe"), text_list(settings, "settings")
    packaged = _PACKAGE / path
    try:
        file = packaged if path.parts[:1] == ("recipes",) and packaged.is_file() and not path.exists() else path
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such recipe") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: it cannot be read as TOML ({error})") from error
    for setting in changes:
        _set(content, setting)
    named, wanted = content.get("kind"), get_args(kind.model_fields["kind"].annotation)
    if named is not None and named not in wanted:
        raise InputError(f"{path}: it is a recipe of kind {named!r}, not {wanted[0]!r}")
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        unknown = next((row["loc"] for row in error.errors() if row["type"] == "extra_forbidden"), None)
        if unknown is not None:
            place = _setting(unknown, changes) or str(path)
            raise InputError(f"{place}: {_unknown_key(kind, unknown)}") from None
        names = own_first(kind)
        first = min(error.errors(), key=lambda row: names.index(str(row["loc"][0])) if row["loc"] else len(names))
        key = ".".join(str(part) for part in first["loc"]) or "the recipe"
        place = _setting(first["loc"], changes) or f"{path}: {key}"
        raise InputError(f"{place}: {_plain(first['msg'])}{_hint(kind, first['loc'], first['type'])}") from None


_SHOWN = 60
"""Characters of a setting shown in an error."""


def _setting(key: Iterable[int | str], changes: Sequence[str]) -> str | None:
    """Return the last of ``changes`` that sets a key, a table that contains it, or something in it."""
    parts = [str(part) for part in key]
    for setting in reversed(changes):
        name = setting.partition("=")[0].split(".")
        if parts and all(a == b for a, b in zip(parts, name, strict=False)):
            return f"the setting {setting if len(setting) <= _SHOWN else setting[:_SHOWN] + '…'}"
    return None


def _plain(message: str) -> str:
    """Translate pydantic's message into our words."""
    for theirs, ours in (
        ("Value error, ", ""),
        ("Input should be", "it must be"),
        ("Field required", "it is missing"),
        ("a valid tuple", "a list"),
        (", unable to parse string as a number", ""),
        (", unable to parse string as an integer", ""),
    ):
        message = message.replace(theirs, ours)
    message = re.sub(r"Tuple should have at least (\d+) items?.*", r"it must be a list of at least \1", message)
    return re.sub(r"a valid dictionary or instance of \w+", "a table", message)


def _hint(kind: type[RecipeTable], place: Sequence[int | str], error: str) -> str:
    """Explain how to write a list of texts, or how to remove a table, if the value is of another type."""
    if len(place) != 1:
        return ""
    name = str(place[0])
    if error == "tuple_type":
        is_of_tables = table_at(kind, place) is not kind
        return f'; write {name}=[{{file="..."}}]' if is_of_tables else f'; write {name}=["..."]'
    if error == "model_type" and not kind.model_fields[name].is_required():
        return f"; to leave it out, write {name}="
    return ""


def _unknown_key(kind: type[RecipeTable], place: Sequence[int | str]) -> str:
    """Suggest valid keys for an unknown one: the same name elsewhere, or else a similar one."""
    last = str(place[-1])
    keys = own_first(table_at(kind, place[:-1]))
    elsewhere = [last] if last in kind.model_fields else []
    elsewhere += [f"{table}.{last}" for table in kind.model_fields if last in table_at(kind, (table,)).model_fields]
    nearest = elsewhere or get_close_matches(last, keys, 1, cutoff=0.75)
    guess = f"did you mean {nearest[0]}?" if nearest else f"the keys here are {', '.join(keys)}"
    return f"there is no key {'.'.join(map(str, place))}; {guess}"


def _set(content: dict[str, Any], setting: str) -> None:
    name, sign, text = setting.partition("=")
    if not sign or not name:
        raise InputError(f"the setting {setting!r}: write it as name=value, as in optimiser.batch=16")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    *tables, last = name.split(".")
    for table in tables:
        content = content.setdefault(table, {})
        if not isinstance(content, dict):
            raise InputError(f"the setting {setting!r}: {table} is not a table of the recipe")
    if text:
        content[last] = value
    else:
        content.pop(last, None)


def own_first(kind: type[RecipeTable]) -> list[str]:
    """Return a table's keys in the order of help pages: its own, then those shared with others."""
    first = [name for name in kind.__annotations__ if name in kind.model_fields]
    return [*first, *(name for name in kind.model_fields if name not in first)]


def table_at(kind: type[RecipeTable], place: Sequence[int | str]) -> type[RecipeTable]:
    """Return the section of a recipe at a location such as ``("optimiser",)`` or ``("data", 0)``."""
    for name in place:
        if isinstance(name, str):
            kind = table_of(kind.model_fields[name]) or kind
    return kind


def table_of(field: FieldInfo) -> type[RecipeTable] | None:
    """Return the section that is the value of a key, or the item type of its list."""
    kinds = [field.annotation, *get_args(field.annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, RecipeTable)), None)
