"""Settings of architectures in config.json: their names, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError

MIN_TOKENS = 8
"""Smallest plausible maximum length, in tokens; a folder with a smaller one is damaged."""

_OTHER_SETTINGS = {
    "distilbert": {
        "dim": "hidden_size", "n_layers": "num_hidden_layers", "n_heads": "num_attention_heads",
        "hidden_dim": "intermediate_size", "activation": "hidden_act",
    },
    "modernbert": {"hidden_activation": "hidden_act", "norm_eps": "layer_norm_eps"},
}  # fmt: skip
"""What architectures call settings of BERT's, and BERT's names."""

_AFTER_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Architectures whose positions begin behind the padding's id: of 514 rows 512 are for tokens."""


def whole_number(settings: Mapping[str, Any], name: str, path: Path, default: int | None = None, minimum: int = 0) -> int:
    """Return an integer setting. Raises ModelError if it is not an integer or less than ``minimum``."""
    value = settings.get(name, default)
    if type(value) is not int or value < minimum:
        raise ModelError(f"{path}: its setting {name} is {value!r}; it must be a whole number of at least {minimum}")
    return value


def uniform_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of config.json under the names that BERT has for them."""
    names = _OTHER_SETTINGS.get(config.get("model_type") or "", {})
    return {names.get(name, name): value for name, value in config.items()}


def hidden_size(config: Mapping[str, Any], path: Path) -> int:
    """The width of an encoder's hidden states. Raises ModelError if config.json does not say."""
    return whole_number(uniform_settings(config), "hidden_size", path, minimum=1)


def input_positions(config: Mapping[str, Any], path: Path, minimum: int = MIN_TOKENS) -> int:
    """The most tokens of an input that a model has positions for. Raises ModelError for less than ``minimum``."""
    positions = whole_number(config, "max_position_embeddings", path, 512, minimum)
    if config.get("model_type") in _AFTER_PADDING:
        positions -= whole_number(config, "pad_token_id", path, 1) + 1
    return positions
