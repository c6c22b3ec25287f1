"""Run the encoder on the CPU with OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np

from oreqa.models.encoder.folder import Attention, EncoderFolder, load_attention, load_dense
from oreqa.models.graph import bert
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.compile import compile_cached
from oreqa.models.graph.openvino import OpenVinoSession
from oreqa.models.graph.precision import encoder_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.graph.recurrent import recurrent_graph


def open_session(folder: EncoderFolder, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: vectors ``[batch, outputs, dim]``."""
    key = "-".join(["encoder", cached_fingerprint(folder.path)[:32], *([folder.route] if folder.route else [])])
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder), encoder_precision(precision)))


def _graph(folder: EncoderFolder) -> ov.Model:
    build = bert.bert_graph if folder.cell is None else recurrent_graph
    graph = build(folder.transformer, folder.load(), folder.config)
    pool = op.parameter([-1, -1, -1], np.float32, "pool")
    x = _attended(graph, pool, folder.attention) if folder.attention else bert.pooled(graph, pool)
    for layer in folder.dense:
        weight, bias = load_dense(layer)
        x = bert.dense(x, weight, bias, layer.activation)
    if folder.normalise:
        x = bert.normalise(x)
    return bert.as_model(graph, {"pool": pool}, {"vectors": x})


def _attended(graph: bert.Graph, pool: Any, attention: Attention) -> Any:
    """Multi-hop attention over the tokens of each output: ``models.encoder.module``."""
    inner, outer = (op.constant(np.ascontiguousarray(weight)) for weight in load_attention(attention))
    scores = op.matmul(op.tanh(op.matmul(graph.hidden, inner, False, True)), outer, False, True)  # [batch, tokens, hops]
    by_hop = op.unsqueeze(op.transpose(scores, _ints(0, 2, 1)), _ints(1))
    is_padding = op.convert(op.equal(pool, op.constant(np.float32(0))), np.float32)
    bias = op.unsqueeze(op.multiply(is_padding, op.constant(np.float32(-1e9))), _ints(2))
    weights = op.softmax(op.add(by_hop, bias), -1)  # [batch, outputs, hops, tokens]
    hops = op.matmul(weights, op.unsqueeze(graph.hidden, _ints(1)), False, False)
    if attention.joining == "averaged":
        return op.reduce_mean(hops, _ints(2))
    return op.reshape(hops, _ints(0, 0, attention.output_width), True)


def _ints(*values: int) -> Any:
    return op.constant(np.array(values, np.int64))
