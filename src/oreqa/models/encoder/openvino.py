"""Run the encoder on the CPU with OpenVINO."""

from __future__ import annotations

import numpy as np

from oreqa.models.encoder.folder import EncoderFolder, load_dense
from oreqa.models.folders import load_tensors
from oreqa.models.graph import bert
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.compile import compile_cached
from oreqa.models.graph.openvino import OpenVinoSession
from oreqa.models.graph.precision import encoder_precision
from oreqa.models.graph.quiet_openvino import op, ov


def open_session(folder: EncoderFolder, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: vectors ``[batch, outputs, dim]``."""
    key = "-".join(["encoder", cached_fingerprint(folder.path)[:32], *([folder.route] if folder.route else [])])
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder), encoder_precision(precision)))


def _graph(folder: EncoderFolder) -> ov.Model:
    graph = bert.bert_graph(folder.transformer, load_tensors(folder.weights), folder.config)
    pool = op.parameter([-1, -1, -1], np.float32, "pool")
    x = bert.pooled(graph, pool)
    for layer in folder.dense:
        weight, bias = load_dense(layer)
        x = bert.dense(x, weight, bias, layer.activation)
    if folder.normalise:
        x = bert.normalise(x)
    return bert.as_model(graph, {"pool": pool}, {"vectors": x})
