"""Settings of architectures in config.json: their names, and values derived from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError

RECURRENT = "oreqa_recurrent"
"""The model type of recurrent encoders (``models.encoder.module``), in their config.json."""

MODEL2VEC = "model2vec"
"""The model type of model2vec's folders, in their config.json."""

PREFIXES = {
    "bert": "bert.",
    "dpr": "bert.",
    RECURRENT: "bert.",
    "roberta": "roberta.",
    "xlm-roberta": "roberta.",
    "camembert": "roberta.",
    "distilbert": "distilbert.",
    "mpnet": "mpnet.",
    "electra": "electra.",
    "modernbert": "model.",
}
"""Maps architectures (``model_type`` in config.json) to the prefix of the encoder's tensors in a model with a head."""

_WITHOUT_PREFIX = (None, MODEL2VEC)
"""Other values of ``model_type`` whose weights are read."""

SEQ2SEQ = ("BartForConditionalGeneration", "T5ForConditionalGeneration")
"""Classes built whole, as generators; encoders of these architectures run as graphs."""

_COMMON_NAMES = {"n_embd": "hidden_size", "d_model": "hidden_size", "n_positions": "max_position_embeddings"}
"""Names of settings in other architectures, used if BERT's name is missing."""

PICKLED = re.compile(r"[^/]*\.(?:bin|pt|pth|ckpt|pkl|cp|h5|msgpack)")
"""Names of files with pickled weights, or with those of other frameworks."""

SHARDS = "model.safetensors.index.json"
"""The index of a model whose weights are split over several files."""

GRAPHS = ("openvino/openvino_model.xml", "onnx/model.onnx", "model.onnx")
"""Where a model's folder may have its graph, for OpenVINO or as ONNX."""

WORD_PIECES, MERGES = "vocab.txt", "merges.txt"
"""The vocabularies of BERT's and of RoBERTa's tokenizer, in folders without tokenizer.json."""

TOKENIZERS = ("tokenizer.json", WORD_PIECES, MERGES)
"""The tokenizer's file: the first of these that exists."""

MIN_TOKENS = 8
"""The smallest plausible maximum length, in tokens; a folder with less is damaged."""

_OTHER_SETTINGS = {
    "distilbert": {
        "dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
        "hidden_dim": "intermediate_size", "activation": "hidden_act",
    },
    "modernbert": {"hidden_activation": "hidden_act", "norm_eps": "layer_norm_eps"},
}  # fmt: skip
"""Maps the architectures' setting names to BERT's."""

_AFTER_PADDING = (
    "roberta", "xlm-roberta", "camembert", "mpnet", "xlm-roberta-xl", "roberta-prelayernorm", "data2vec-text", "longformer",
)  # fmt: skip
"""Architectures whose positions begin after the padding's id: of 514 rows, 512 are for tokens."""


def whole_number(settings: Mapping[str, Any], name: str, path: Path, default: int | None = None, minimum: int = 0) -> int:
    """Return an integer setting. Raises ModelError if it is not an integer or less than ``minimum``."""
    value = settings.get(name, default)
    if type(value) is not int or value < minimum:
        raise ModelError(f"{path}: its setting {name} is {value!r}; it must be a whole number of at least {minimum}")
    return value


def encoder_prefix(config: Mapping[str, Any]) -> str:
    """Return the prefix of an encoder's tensors in ``load_weights``: that of transformers' classes with a head, or none."""
    return PREFIXES.get(config.get("model_type") or "", "")


def uniform_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of config.json under BERT's names."""
    names = _OTHER_SETTINGS.get(config.get("model_type") or "", {})
    settings = {names.get(name, name): value for name, value in config.items()}
    return {name: config[other] for other, name in _COMMON_NAMES.items() if other in config} | settings


def hidden_size(config: Mapping[str, Any], path: Path) -> int:
    """Return the width of an encoder's hidden states. Raises ModelError if config.json does not have it."""
    return whole_number(uniform_settings(config), "hidden_size", path, minimum=1)


def first_position(config: Mapping[str, Any], path: Path) -> int:
    """Return the position of an input's first token."""
    return whole_number(config, "pad_token_id", path, 1) + 1 if config.get("model_type") in _AFTER_PADDING else 0


def input_positions(config: Mapping[str, Any], path: Path, minimum: int = MIN_TOKENS) -> int:
    """Return how many tokens a model has positions for. Raises ModelError for less than ``minimum``."""
    return whole_number(uniform_settings(config), "max_position_embeddings", path, 512, minimum) - first_position(
        config, path
    )


def is_built(config: Mapping[str, Any]) -> bool:
    """Return whether a model is built from its weights: its architecture is supported and needs no remote code."""
    has_builder = config.get("model_type") in (*PREFIXES, *_WITHOUT_PREFIX) or is_seq2seq(config)
    return has_builder and "auto_map" not in config


def is_seq2seq(config: Mapping[str, Any]) -> bool:
    """Return whether a folder's settings are those of a BART or T5 that generates text."""
    return any(name in SEQ2SEQ for name in config.get("architectures") or ())


def has_weights(path: Path) -> bool:
    """Return whether a folder contains a model's weights: whole, split or as a difference."""
    return any((path / name).is_file() for name in ("model.safetensors", SHARDS, "difference.safetensors"))


def has_graph(path: Path) -> bool:
    """Return whether a folder contains a graph."""
    return any((path / name).is_file() for name in GRAPHS)


def graph_files(path: Path, config: Mapping[str, Any]) -> list[Path]:
    """Return the graph that replaces the weights of the model in ``path``, and the files of the graph's weights.

    Empty if the weights are used, or if there is no graph.
    """
    if is_built(config) and has_weights(path):
        return []
    for graph in map(path.joinpath, GRAPHS):
        if graph.is_file():
            return [
                graph,
                *sorted(graph.parent.glob("openvino_model.bin" if graph.suffix == ".xml" else "model.onnx?data*")),
            ]
    return []


def is_foreign(path: Path, config: Mapping[str, Any]) -> bool:
    """Return whether the model in ``path`` runs as a graph that oreqa does not build (``models.graph.foreign``)."""
    return not is_built(config) or bool(graph_files(path, config))


def missing_file(folder: Path, name: str) -> str:
    """Return the message for a folder that lacks a file."""
    pickles = sorted(file.name for file in folder.iterdir() if PICKLED.fullmatch(file.name)) if folder.is_dir() else []
    if name == "model.safetensors" and pickles:
        return (
            f"{folder}: its weights are pickled ({pickles[0]}), which oreqa does not load, as that can run code; load the "
            "model in transformers or sentence-transformers and save_pretrained() it, which writes model.safetensors"
        )
    return f"{folder}: {name} is missing; a model's folder holds config.json, tokenizer.json and model.safetensors"
