"""Runs the extractor on the CPU with OpenVINO."""

from __future__ import annotations

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.extractor.inputs import ExtractorFolder
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.layers import dense, ints
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.weights import linear_head, load_weights


def open_session(folder: ExtractorFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: the scores of spans ``[batch, tokens, tokens]``, by first and last token."""
    precision = heads_precision(precision)
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: ExtractorFolder, eight_bits: bool) -> ov.Model:
    weights = load_weights(folder.path)
    graph = build_graph(folder.path, weights, folder.config, eight_bits=eight_bits)
    start_weight, start_bias = linear_head(weights, "qa_start", folder.path, folder.config)
    end_weight, end_bias = linear_head(weights, "qa_end", folder.path, folder.config)
    if len(start_weight) != len(end_weight) or len(start_weight) < 2:
        raise ModelError(f"{folder.path}: its qa_start and qa_end have {len(start_weight)} and {len(end_weight)} outputs")
    scale = np.float32((len(start_weight) - 1) ** -0.5)
    starts = dense(graph.hidden, scale * start_weight[:-1], scale * start_bias[:-1])
    ends = dense(graph.hidden, end_weight[:-1], end_bias[:-1])
    first = dense(graph.hidden, start_weight[-1:], start_bias[-1:])
    last = op.transpose(dense(graph.hidden, end_weight[-1:], end_bias[-1:]), ints(0, 2, 1))
    scores = op.add(op.add(op.matmul(starts, ends, False, True), first), last)
    return graph.model({"scores": scores})
