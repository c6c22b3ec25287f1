"""The architectures of encoders: maps ``model_type`` in config.json to the module of this folder that builds the graph.

A new architecture is a file NAME.py with a function ``NAME_graph``, a line in the table here, and one in ``PREFIXES``
(``models.settings``). Names that differ from BERT's go into these tables: ``_OTHER_SETTINGS`` and ``_AFTER_PADDING``
there, ``HEAD_LAYERS`` in ``models.weights``, ``_ACTIVATIONS`` in ``heads``, and, for training, ``_RATES`` and
``embeddings_of`` in ``training.backbone``. Families add their heads to its hidden states.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import ACTIVATIONS, Constants, Graph, Options
from oreqa.models.settings import RECURRENT, uniform_settings

_GENERATING = {
    "bert": "bert",
    "dpr": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "distilbert": "distilbert",
    "electra": "electra",
    "mpnet": "mpnet",
}
"""Architectures that support all options."""

_HEADED = {**_GENERATING, "modernbert": "modernbert"}
"""Architectures that support heads, but no cache of keys and values."""

_ALL = {**_HEADED, RECURRENT: "recurrent"}
"""All architectures, including those of encoders without options."""


def build_graph(folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any], **options: bool) -> Graph:
    """Build the hidden states of the model in ``folder``; heads need some of the ``Options``.

    Raises ModelError like ``check_architecture``, and for weights that are missing or do not fit.
    """
    chosen = Options(**options)
    check_architecture(folder, config, headed=bool(options), cached=chosen.cached)
    name = _ALL[config["model_type"]]
    module = import_module(f"oreqa.models.graph.{name}")
    graph: Graph = getattr(module, f"{name}_graph")(Constants(folder, weights, config), chosen)
    return graph


def check_architecture(folder: Path, config: Mapping[str, Any], headed: bool = False, cached: bool = False) -> None:
    """Raise ModelError for an architecture that does not run here, or not with a head or as a generator (``cached``).

    Also raised for unknown position embeddings or activations.
    """
    kind, settings = config.get("model_type"), uniform_settings(config)
    supported = _GENERATING if cached else _HEADED if headed else _ALL
    if kind not in supported:
        names = ", ".join(name for name in supported if name != RECURRENT)
        raise ModelError(f"{folder}: the model type {kind!r} is not supported; supported: {names}")
    if settings.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"{folder}: relative position embeddings are not supported, only absolute ones")
    if settings.get("hidden_act", "gelu") not in ACTIVATIONS:
        raise ModelError(
            f"{folder}: the activation {settings['hidden_act']!r} is not supported; supported: {', '.join(ACTIVATIONS)}"
        )
