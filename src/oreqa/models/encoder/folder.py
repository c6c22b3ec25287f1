"""Read the settings of an encoder's folder: sentence-transformers' modules.json and the modules' own files.

A folder holds one encoder of questions and passages, or two of them behind sentence-transformers' Router: its route
``query`` encodes questions, its route ``document`` passages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import ModelError
from oreqa.models.differences import DIFFERENCE
from oreqa.models.names import (
    MIN_TOKENS,
    RECURRENT,
    ModelFolder,
    find_model,
    hidden_size,
    input_positions,
    load_tensors,
    read_config,
    read_json_file,
    sound_settings,
    whole_number,
)
from oreqa.models.weights import Weights, load_weights

Context = Literal["late_chunking", "cross_segment", "none"]
"""How much of its passage an encoder sees with a sentence. ``late_chunking``: all of it, in one pass, and the sentence's
vector is the mean of its tokens (Günther et al. 2024). ``cross_segment``: all of it, as the second segment (Yang et al.
2021, section 4.2). ``none``: nothing."""

ROUTER = "router_config.json"
"""The file of sentence-transformers' Router, in a folder of two encoders."""

QUESTION_ROUTE, PASSAGE_ROUTE = "query", "document"
"""The Router's routes, which sentence-transformers' ``encode_query`` and ``encode_document`` take."""

Cell = Literal["rnn", "gru", "lstm"]
"""Kinds of recurrent layers."""

NewEncoder = Literal["transformer", Cell]
"""Kinds of encoders that a training begins at random, over a backbone's token embeddings."""

Joining = Literal["concatenated", "averaged"]
"""How the vectors of several hops of attention become one."""

_Module = tuple[str, Path]
"""The class of a sentence-transformers module, with the Python module it comes from, and its folder."""

_POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer after pooling (sentence-transformers' Dense module): its folder, and ``tanh`` or ``identity``."""

    folder: Path
    activation: str


@dataclass(frozen=True, slots=True)
class Attention:
    """Multi-hop attention in the place of a mean (``models.encoder.module``): its folder, its size, and what becomes of
    the hops' vectors."""

    folder: Path
    width: int
    hops: int
    joining: Joining

    @property
    def output_width(self) -> int:
        """Dimensions of the vectors."""
        return self.width * (self.hops if self.joining == "concatenated" else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderFolder(ModelFolder):
    """The settings of a sentence-transformers folder with a BERT-like or a recurrent encoder.

    ``path`` is the model's folder, ``transformer`` the one that holds BERT's settings, weights and tokenizer: the same, or
    one in it if there are two encoders. ``context`` is what the encoder sees with a sentence, ``query_token_type`` the token
    type of a question's tokens, ``max_tokens`` the longest input with special tokens.

    Of two encoders these are the passages' settings, and ``questions`` has those of the questions' encoder.
    """

    transformer: Path
    pooling: str
    attention: Attention | None
    dense: tuple[Layer, ...]
    normalise: bool
    context: Context
    query_token_type: int
    lower_case: bool
    route: str = ""
    """Which of two encoders it is: QUESTION_ROUTE or PASSAGE_ROUTE."""
    questions: EncoderFolder | None = None

    @property
    def cell(self) -> Cell | None:
        """The kind of recurrent layers; None for BERT."""
        return cast(Cell, self.config["cell"]) if self.config.get("model_type") == RECURRENT else None

    @property
    def is_difference(self) -> bool:
        """Whether its weights are stored as their difference from those of another folder, whose tokenizer it has."""
        return "difference_from" in (self.config.get("oreqa") or {})

    @property
    def settings(self) -> Path:
        """The folder of the transformer's config.json."""
        return self.path if self.is_difference else self.transformer

    def load(self) -> Weights:
        """The tensors of the transformer, named as ``load_weights`` does."""
        return load_weights(self.settings)

    @property
    def width(self) -> int:
        """Dimensions of the vectors. Raises ModelError if the folder does not say."""
        if self.dense:
            return len(load_dense(self.dense[-1])[0])
        if self.attention is not None:
            return self.attention.output_width
        return hidden_size(self.config, self.transformer)


def read_encoder_folder(path: Path) -> EncoderFolder:
    """Read the settings of an encoder's folder.

    Raises ModelError, with the reason, if it is not a BERT-like sentence-transformers model.
    """
    with sound_settings(path):
        if (path / ROUTER).is_file():
            return _two_encoders(path)
        if (path / DIFFERENCE).is_file():
            return _difference(path)
        return _encoder_folder(path, path, _modules(path))


def _difference(path: Path) -> EncoderFolder:
    config = read_config(path)
    settings = config["oreqa"]
    _check_family(path, settings)
    base = read_encoder_folder(find_model(str(settings["difference_from"])))
    return replace(base, path=path, config=config, context=_context(path, settings, base.pooling))


def _check_family(path: Path, settings: Mapping[str, Any]) -> None:
    if (family := settings.get("kind", "encoder")) != "encoder":
        raise ModelError(f"{path}: it is a {family}, not an encoder")


def _two_encoders(path: Path) -> EncoderFolder:
    router = read_json_file(path / ROUTER)
    routes, types = router["structure"], router["types"]
    if set(routes) != {QUESTION_ROUTE, PASSAGE_ROUTE}:
        supported = f"{QUESTION_ROUTE} and {PASSAGE_ROUTE}"
        raise ModelError(f"{path}: its routes are {', '.join(sorted(routes))}; supported: {supported}")
    first, *shared = _modules(path)
    if _class_name(first) not in ("Router", "Asym") or first[1] != path:
        raise ModelError(f"{path}: with {ROUTER}, the first module in modules.json must be Router, in the folder itself")
    settings = {}
    for route, (transformer, *others) in routes.items():
        modules = [(str(types[name]), path / name) for name in (transformer, *others)]
        settings[route] = replace(_encoder_folder(path, path / transformer, [*modules, *shared]), route=route)
    questions, passages = settings[QUESTION_ROUTE], settings[PASSAGE_ROUTE]
    if questions.width != passages.width:
        raise ModelError(
            f"{path}: vectors of questions have {questions.width} dimensions, those of passages {passages.width}"
        )
    return replace(passages, questions=questions)


def _modules(path: Path) -> list[_Module]:
    rows = read_json_file(path / "modules.json") if (path / "modules.json").is_file() else []
    return [(str(row["type"]), path / row["path"]) for row in rows]


def _class_name(module: _Module) -> str:
    return module[0].rsplit(".", 1)[-1]


def _encoder_folder(path: Path, transformer: Path, modules: Sequence[_Module]) -> EncoderFolder:
    if (transformer / "config.json").is_file():
        _check_family(path, read_config(transformer).get("oreqa") or {})
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        if not (transformer / name).is_file():
            raise ModelError(
                f"{transformer}: {name} is missing; its folder must hold config.json, tokenizer.json and model.safetensors"
            )
    config = read_config(transformer)
    if config.get("model_type") == RECURRENT and config.get("cell") not in get_args(Cell):
        raise ModelError(f"{path}: its cell {config.get('cell')!r} is not supported; supported: {', '.join(get_args(Cell))}")
    pooling, attention, dense, normalise = "mean", None, [], False
    for module in modules:
        kind, folder = _class_name(module), module[1]
        if kind == "Pooling":
            pooling = _pooling(folder)
        elif kind == "AttentionPooling":
            pooling, attention = "attention", _attention(folder, hidden_size(config, transformer))
        elif kind == "Dense":
            activation = str(read_json_file(folder / "config.json").get("activation_function", "")).rsplit(".", 1)[-1]
            if activation not in ("Tanh", "Identity"):
                raise ModelError(f"{folder}: the activation {activation} is not supported; supported: Tanh, Identity")
            dense.append(Layer(folder, activation.lower()))
        elif kind == "Normalize":
            normalise = True
        elif kind not in ("Transformer", "QuestionTransformer", "RecurrentTransformer"):
            raise ModelError(
                f"{path}: the module {module[0]} is not supported; supported: Transformer, Pooling, AttentionPooling, "
                "Dense, Normalize"
            )
    limits_file = transformer / "sentence_bert_config.json"
    limits = read_json_file(limits_file) if limits_file.is_file() else {}
    positions = input_positions(config, transformer)
    max_tokens = positions
    if limits.get("max_seq_length") is not None:
        max_tokens = min(whole_number(limits, "max_seq_length", transformer, positions, MIN_TOKENS), positions)
    settings = config.get("oreqa") or {}
    return EncoderFolder(
        path=path,
        transformer=transformer,
        config=config,
        tokenizer=transformer / "tokenizer.json",
        pooling=pooling,
        attention=attention,
        dense=tuple(dense),
        normalise=normalise,
        context=_context(path, settings, pooling),
        query_token_type=whole_number(settings, "query_token_type", path, 0),
        max_tokens=max_tokens,
        lower_case=bool(limits.get("do_lower_case")),
    )


def _context(path: Path, settings: dict[str, Any], pooling: str) -> Context:
    context = settings.get("context") or ("none" if pooling == "cls" else "late_chunking")
    if context not in get_args(Context) or (context == "late_chunking" and pooling == "cls"):
        raise ModelError(f"{path}: the context {context!r} is not supported with {pooling} pooling")
    return cast(Context, context)


def _pooling(folder: Path) -> str:
    settings = read_json_file(folder / "config.json")
    mode = settings.get("pooling_mode")
    if mode is None:
        enabled = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
        mode = next((name for name, key in _POOLINGS.items() if enabled == [key]), enabled)
    if not isinstance(mode, str) or mode not in _POOLINGS:
        raise ModelError(f"{folder}: the pooling {mode or '(none)'} is not supported; supported: {', '.join(_POOLINGS)}")
    return mode


def _attention(folder: Path, width: int) -> Attention:
    settings = read_json_file(folder / "config.json")
    hops, joining = whole_number(settings, "hops", folder, minimum=1), settings.get("joining")
    if joining not in get_args(Joining):
        raise ModelError(f"{folder}: the joining {joining!r} is not supported; supported: {', '.join(get_args(Joining))}")
    return Attention(folder, width, hops, cast(Joining, joining))


def load_attention(attention: Attention) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Load W1 ``[hidden, width]`` and W2 ``[hops, hidden]``. Raises ModelError if they are missing or of other shapes."""
    tensors = load_tensors(attention.folder / "model.safetensors")
    inner, outer = tensors.get("inner.weight"), tensors.get("outer.weight")
    if inner is None or outer is None or inner.ndim != 2 or outer.ndim != 2:
        raise ModelError(f"{attention.folder}: its tensors are not those of attention (inner.weight, outer.weight)")
    if inner.shape[1] != attention.width or outer.shape != (attention.hops, len(inner)):
        raise ModelError(f"{attention.folder}: its tensors do not fit {attention.hops} hops of width {attention.width}")
    return inner.astype(np.float32), outer.astype(np.float32)


def load_dense(layer: Layer) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Load weight ``[out, in]`` and bias ``[out]`` (or None) of a layer. Raises ModelError if missing or damaged."""
    tensors = load_tensors(layer.folder / "model.safetensors")
    weight, bias = tensors.get("linear.weight"), tensors.get("linear.bias")
    if weight is None or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        raise ModelError(f"{layer.folder}: its tensors are not those of a linear layer (linear.weight, linear.bias)")
    return weight.astype(np.float32), None if bias is None else bias.astype(np.float32)
