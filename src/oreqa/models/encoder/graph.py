"""Runs the encoder on the CPU with OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np

from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.pooling import Attention, load_attention, load_dense
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.layers import Graph, dense, ints
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import encoder_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.settings import is_foreign


def open_session(folder: EncoderFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: vectors ``[batch, outputs, dim]``."""
    key = f"{key}-{folder.route}" if folder.route else key
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder), encoder_precision(precision)))


def _graph(folder: EncoderFolder) -> ov.Model:
    graph = _states(folder)
    pool = op.parameter([-1, -1, -1], np.float32, "pool")
    if folder.attention:
        x = _attended(graph, pool, folder.attention)
    elif folder.pooling == "max":
        x = op.reduce_max(op.add(op.unsqueeze(graph.hidden, ints(1)), op.unsqueeze(_hidden_tokens(pool), ints(3))), ints(2))
    else:
        x = op.matmul(pool, graph.hidden, False, False)
    for layer in folder.dense:
        weight, bias = load_dense(layer)
        x = dense(op.normalize_l2(x, ints(-1), 1e-12, "max") if layer.unit_input else x, weight, bias, layer.activation)
    if folder.normalise:
        x = op.normalize_l2(x, ints(-1), 1e-12, "max")
    return graph.model({"vectors": x}, {"pool": pool})


def _states(folder: EncoderFolder) -> Graph:
    if not folder.is_difference and is_foreign(folder.transformer, folder.config):
        from oreqa.models.graph.foreign import foreign_graph  # few models need it

        return foreign_graph(folder.transformer, folder.config)
    return build_graph(folder.transformer, folder.load(), folder.config)


def _hidden_tokens(pool: Any) -> Any:
    """Return a bias ``[batch, outputs, tokens]`` that hides other tokens from each output."""
    is_hidden = op.convert(op.equal(pool, op.constant(np.float32(0))), np.float32)
    return op.multiply(is_hidden, op.constant(np.float32(-1e9)))


def _attended(graph: Graph, pool: Any, attention: Attention) -> Any:
    """Return multi-hop attention over the tokens of each output: ``models.encoder.module``."""
    inner, outer = (op.constant(np.ascontiguousarray(weight)) for weight in load_attention(attention))
    scores = op.matmul(op.tanh(op.matmul(graph.hidden, inner, False, True)), outer, False, True)  # [batch, tokens, hops]
    by_hop = op.unsqueeze(op.transpose(scores, ints(0, 2, 1)), ints(1))
    weights = op.softmax(op.add(by_hop, op.unsqueeze(_hidden_tokens(pool), ints(2))), -1)  # [batch, outputs, hops, tokens]
    hops = op.matmul(weights, op.unsqueeze(graph.hidden, ints(1)), False, False)
    if attention.joining == "averaged":
        return op.reduce_mean(hops, ints(2))
    return op.reshape(hops, ints(0, 0, attention.output_width), True)
