"""The architectures of encoders: ``model_type`` in config.json to the function that builds the graph.

A new architecture is a file in this folder and a line in the table. Families add their heads to its hidden states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.bert import bert_graph
from oreqa.models.graph.layers import ACTIVATIONS, Graph
from oreqa.models.graph.recurrent import recurrent_graph
from oreqa.models.names import RECURRENT

_HEADED: dict[str, Callable[..., Graph]] = {"bert": bert_graph, "dpr": bert_graph}
"""Architectures that carry all heads; their functions take the options of ``bert_graph``."""

_BARE: dict[str, Callable[..., Graph]] = {RECURRENT: recurrent_graph}
"""Architectures of encoders alone."""


def build_graph(folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any], **options: bool) -> Graph:
    """Build the hidden states of the model in ``folder``; ``options`` as in ``bert_graph``, which heads need.

    Raises ModelError as ``check_architecture`` does, and for weights that are missing or do not fit.
    """
    check_architecture(folder, config, headed=bool(options))
    return {**_HEADED, **_BARE}[config["model_type"]](folder, weights, config, **options)


def check_architecture(folder: Path, config: Mapping[str, Any], headed: bool = False) -> None:
    """Raise ModelError for an architecture that does not run here, or not with a head, and for unknown position embeddings
    or activation."""
    kind = config.get("model_type")
    if kind not in _HEADED and (headed or kind not in _BARE):
        raise ModelError(
            f"{folder}: the model type {kind!r} is not supported; use a BERT encoder (model_type bert in config.json)"
        )
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{folder}: relative position embeddings are not supported, only absolute ones")
    if config.get("hidden_act", "gelu") not in ACTIVATIONS:
        raise ModelError(
            f"{folder}: the activation {config['hidden_act']!r} is not supported; supported: {', '.join(ACTIVATIONS)}"
        )
