"""What an encoder's folder says about itself: sentence-transformers' modules.json and the modules' settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.folders import MIN_TOKENS, load_tensors, read_config, read_json_file, sound_settings, whole_number

Context = Literal["late_chunking", "cross_segment", "none"]
"""What of its passage an encoder sees with a sentence: the whole passage in one pass, the sentence's vector being the mean
of its own tokens (``late_chunking``, Günther et al. 2024); the passage as second segment (``cross_segment``, Yang et al.
2021, section 4.2); nothing."""

_OLD_CONTEXTS = {"inside": "late_chunking", "pairs": "cross_segment", "alone": "none"}
"""As folders named them that were saved under the key ``answers``."""

_POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer after pooling, as sentence-transformers' Dense module: its folder and its activation."""

    folder: Path
    activation: str


@dataclass(frozen=True, slots=True)
class EncoderFolder:
    """A sentence-transformers folder of a BERT-like encoder, read but not loaded.

    ``context`` is what it sees with a sentence, ``query_token_type`` the token type of a question's tokens.
    """

    path: Path
    config: dict[str, Any]
    pooling: str
    dense: tuple[Layer, ...]
    normalise: bool
    context: Context
    query_token_type: int
    max_tokens: int
    lower_case: bool

    @property
    def weights(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"


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
    positions = whole_number(config, "max_position_embeddings", path, 512, MIN_TOKENS)
    max_tokens = positions
    if limits.get("max_seq_length") is not None:
        max_tokens = min(whole_number(limits, "max_seq_length", path, positions, MIN_TOKENS), positions)
    settings = config.get("oreqa") or {}
    return EncoderFolder(
        path=path,
        config=config,
        pooling=pooling,
        dense=tuple(dense),
        normalise=normalised,
        context=_context(path, settings, pooling),
        query_token_type=whole_number(settings, "query_token_type", path, settings.get("question_type", 0)),
        max_tokens=max_tokens,
        lower_case=bool(limits.get("do_lower_case")),
    )


def _context(path: Path, settings: dict[str, Any], pooling: str) -> Context:
    context = settings.get("context") or _OLD_CONTEXTS.get(settings.get("answers", ""))
    if context is None and "answers" not in settings:
        context = "late_chunking" if pooling == "mean" else "none"
    if context not in get_args(Context) or (context == "late_chunking" and pooling != "mean"):
        raise ModelError(f"{path}: its context {context!r} does not run here with {pooling} pooling")
    return cast(Context, context)


def _pooling(folder: Path) -> str:
    settings = read_json_file(folder / "config.json")
    mode = settings.get("pooling_mode")
    if mode is None:
        on = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
        mode = next((name for name, key in _POOLINGS.items() if on == [key]), on)
    if not isinstance(mode, str) or mode not in _POOLINGS:
        raise ModelError(f"{folder}: its pooling {mode or '(none)'} does not run here; known: {', '.join(_POOLINGS)}")
    return mode


def load_dense(layer: Layer) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Weight ``[out, in]`` and bias (or None) of a layer after pooling. Raises ModelError if it is missing or damaged."""
    tensors = load_tensors(layer.folder / "model.safetensors")
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise ModelError(f"{layer.folder}: its tensors are not a linear layer's (linear.weight, linear.bias)")
    return weight.astype(np.float32), None if bias is None else bias.astype(np.float32)
