"""Run the reader on the CPU with OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.layers import dense, first_token, pick
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.reader.inputs import ReaderFolder
from oreqa.models.settings import hidden_size
from oreqa.models.weights import linear_head, load_weights


def open_session(folder: ReaderFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with outputs: start logits and end logits ``[batch, tokens]``, selection logits ``[batch]``."""
    precision = heads_precision(precision)
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: ReaderFolder, eight_bits: bool) -> ov.Model:
    weights = load_weights(folder.path)
    graph = build_graph(folder.path, weights, folder.config, eight_bits=eight_bits)
    weight, bias = linear_head(weights, "qa_outputs", folder.path, folder.config)
    if len(weight) < 2:
        raise ModelError(f"{folder.path}: its qa_outputs has {len(weight)} output; a reader needs two, start and end")
    ends = dense(graph.hidden, weight[:2], bias[:2])
    selector: tuple[Any, Any] = np.zeros((1, hidden_size(folder.config, folder.path))), np.zeros(1)
    if "qa_classifier.weight" in weights:
        selector = linear_head(weights, "qa_classifier", folder.path, folder.config)
    selection = dense(first_token(graph.hidden), *selector)
    start, end = (pick(ends, place, axis=2) for place in (0, 1))
    return graph.model({"start": start, "end": end, "selection": pick(selection, 0, axis=1)})
