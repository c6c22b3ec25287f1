"""The base of all recipes, and how they are read from TOML and checked, before anything starts."""

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
"""Tokens of a window, which holds more than one text. A backbone may have positions for fewer."""


class RecipeTable(BaseModel):
    """A recipe, or a table of one: its keys are checked, and none but these are taken."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    def _refuse_ignored(self, key: str, used: bool, needs: str) -> None:
        """Raise ValueError if the recipe sets a ``key``, even to its default, that is not ``used`` for want of ``needs``."""
        if not used and key in self.model_fields_set:
            raise ValueError(f"{key} = {getattr(self, key)} would be ignored: it needs {needs}")

    @staticmethod
    def _refuse_overlap(overlap: int, tokens: int) -> None:
        """Raise ValueError if two windows of ``tokens`` tokens share more than half: windows have to move on."""
        if overlap > tokens // 2:
            raise ValueError(f"overlap = {overlap} is more than half of a window; set it to at most {tokens // 2}")


class Optimiser(RecipeTable):
    """AdamW, with warm-up and then linear decay or a constant rate."""

    learning_rate: Annotated[float, Field(gt=0)]
    """The highest rate."""
    head_learning_rate: Annotated[float, Field(gt=0)] | None = None
    """The rate of what lies on top of the encoder, or beside it; without it, the same. The layers of a new encoder have
    learning_rate."""
    batch: Count
    """Examples that are computed together, on each device."""
    accumulate: Count = 1
    """Batches of a step, whose gradients are averaged."""
    warmup: Share = 0.06
    """Share of the steps over which the rate rises."""
    weight_decay: NonNegative = 0.01
    """Decay of matrices; biases and normalisation do not decay."""
    schedule: Literal["linear", "constant"] = "linear"
    """What the rate does after warm-up: fall to 0, or stay."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """The largest norm of a step's gradient."""
    precision: Literal["auto", "bf16", "f32"] = "auto"
    """What is computed in; auto is $OREQA_PRECISION, else bf16 where the hardware multiplies it, else f32."""
    checkpoint_steps: Count = 200
    """Steps between two checkpoints, from which an interrupted run resumes."""


class Lora(RecipeTable):
    """Training of low-rank factors (LoRA, Hu et al. 2022) beside the backbone's layers, which stay as they are, with the
    layers' biases and normalisation and with the heads. What is saved is a small difference from the backbone."""

    rank: Count = 32
    """Rank of the factors."""
    alpha: Annotated[float, Field(gt=0)] | None = None
    """Their product is multiplied by alpha / rank; without it, by 1."""
    targets: tuple[str, ...] = ()
    """Names of the linear layers that have factors, as query, value; without them, all of them."""


class FilePart(RecipeTable):
    """A file to learn from: what the entries of ``[[data]]`` of all families hold."""

    file: Path
    epochs: Count = 1
    """How often it is seen."""
    titles: bool = True
    """Whether the paragraphs' titles mean anything to a reader."""


P = TypeVar("P", bound=FilePart)


class Recipe(RecipeTable):
    """The keys that the recipes of all kinds of models share."""

    data_root: Path = Path()
    """Folder that the paths of data files begin at."""
    dev: Path | None = None
    """A file to stop early on: dev_metric is measured at every checkpoint, and the best one is kept; without it, the last.
    Of a SQuAD or MRQA file the held-out articles count."""
    patience: Count = 3
    """Checkpoints without a gain on dev before training stops."""
    seed: Seed = 0
    """What is random is drawn by it."""
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
        """The files to learn from, as the recipe names them."""
        raise NotImplementedError

    def _rooted(self, parts: Iterable[P]) -> list[P]:
        """The entries of ``[[data]]`` with the paths of their files."""
        return [part.model_copy(update={"file": self.data_root / part.file}) for part in parts]

    @model_validator(mode="after")
    def _dev_keys_need_dev(self) -> Self:
        for key in ("patience", "dev_metric"):
            self._refuse_ignored(key, self.dev is not None, "dev=FILE")
        return self


class LoraRecipe(Recipe):
    """The keys of recipes that may train low-rank factors in the place of the backbone's weights."""

    freeze_embeddings: bool = True
    """Keep the backbone's embeddings as they are."""
    lora: Lora | None = None
    """Low-rank factors (LoRA) that are trained in the place of the backbone's weights."""

    @model_validator(mode="after")
    def _factors_stand_on_frozen_embeddings(self) -> Self:
        if self.lora and not self.freeze_embeddings:
            raise ValueError("[lora] keeps the embeddings as they are: set freeze_embeddings=true, or leave [lora] out")
        return self


R = TypeVar("R", bound=Recipe)


def load_recipe(kind: type[R], path: str | Path, settings: str | Iterable[str] = ()) -> R:
    """Read a recipe. ``settings`` are ``name=value`` or ``table.name=value``, the value in TOML or a plain word; without a
    value, as in ``alignment=``, they leave a key or a table of the recipe out. A path that is not here, as
    ``recipes/small/reader.toml``, is looked for among the recipes that come with oreqa.

    Raises InputError that names the file and the key.
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
"""Characters of a setting that an error shows."""


def _setting(key: Iterable[int | str], changes: Sequence[str]) -> str | None:
    """The last of ``changes`` that set a key, a table that holds it, or something in it."""
    parts = [str(part) for part in key]
    for setting in reversed(changes):
        name = setting.partition("=")[0].split(".")
        if parts and all(a == b for a, b in zip(parts, name, strict=False)):
            return f"the setting {setting if len(setting) <= _SHOWN else setting[:_SHOWN] + '…'}"
    return None


def _plain(message: str) -> str:
    """pydantic's message in our words."""
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
    """How to write a list of texts, or leave out a table, where something else stands."""
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
    """Suggest known keys for an unknown one: that of the same name elsewhere, or else one like it."""
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
    """The keys of a table in the order of help pages: its own, then those that it has in common with others."""
    first = [name for name in kind.__annotations__ if name in kind.model_fields]
    return [*first, *(name for name in kind.model_fields if name not in first)]


def table_at(kind: type[RecipeTable], place: Sequence[int | str]) -> type[RecipeTable]:
    """The section of a recipe that stands at a place, as ``("optimiser",)`` or ``("data", 0)``."""
    for name in place:
        if isinstance(name, str):
            kind = table_of(kind.model_fields[name]) or kind
    return kind


def table_of(field: FieldInfo) -> type[RecipeTable] | None:
    """The section that a key holds, or holds a list of."""
    kinds = [field.annotation, *get_args(field.annotation)]
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, RecipeTable)), None)
