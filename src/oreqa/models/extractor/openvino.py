"""Run the extractor on the CPU with OpenVINO."""

from __future__ import annotations

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.extractor.folder import ExtractorFolder
from oreqa.models.graph import bert
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.compile import compile_cached
from oreqa.models.graph.openvino import OpenVinoSession
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.graph.weights import linear_head, load_weights


def open_session(folder: ExtractorFolder, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: the scores of spans ``[batch, tokens, tokens]``, by first and last token."""
    precision = heads_precision(precision)
    key = f"extractor-{cached_fingerprint(folder.path)[:32]}"
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: ExtractorFolder, eight_bits: bool) -> ov.Model:
    weights = load_weights(folder.path)
    graph = bert.bert_graph(folder.path, weights, folder.config, eight_bits=eight_bits)
    start_weight, start_bias = linear_head(weights, "qa_start", folder.path, folder.config)
    end_weight, end_bias = linear_head(weights, "qa_end", folder.path, folder.config)
    if len(start_weight) != len(end_weight) or len(start_weight) < 2:
        raise ModelError(f"{folder.path}: its qa_start and qa_end have {len(start_weight)} and {len(end_weight)} outputs")
    scale = np.float32((len(start_weight) - 1) ** -0.5)
    starts = bert.dense(graph.hidden, scale * start_weight[:-1], scale * start_bias[:-1], "identity")
    ends = bert.dense(graph.hidden, end_weight[:-1], end_bias[:-1], "identity")
    first = bert.dense(graph.hidden, start_weight[-1:], start_bias[-1:], "identity")
    last = op.transpose(
        bert.dense(graph.hidden, end_weight[-1:], end_bias[-1:], "identity"), op.constant(np.array([0, 2, 1], np.int64))
    )
    scores = op.add(op.add(op.matmul(starts, ends, False, True), first), last)
    return bert.as_model(graph, {}, {"scores": scores})
