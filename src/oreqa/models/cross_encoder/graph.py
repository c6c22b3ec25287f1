"""Run the cross-encoder on the CPU with OpenVINO."""

from __future__ import annotations

from oreqa.models.cross_encoder.inputs import CrossEncoderFolder
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.layers import dense, first_token, pick
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.weights import Linear, Weights, linear_head, load_weights


def open_session(folder: CrossEncoderFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: scores ``[batch]``, which are log-odds for a classifier."""
    precision = heads_precision(precision)
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: CrossEncoderFolder, eight_bits: bool) -> ov.Model:
    """Build the graph: one score per input from [CLS], through BERT's pooler if the model has one."""
    weights = load_weights(folder.path)
    graph = build_graph(folder.path, weights, folder.config, eight_bits=eight_bits, cls_only=True)
    first = first_token(graph.hidden)
    if "bert.pooler.dense.weight" in weights:
        first = dense(first, *linear_head(weights, "bert.pooler.dense", folder.path, folder.config), "tanh")
    score = dense(first, *_score_head(weights, folder))
    return graph.model({"scores": pick(score, 0, axis=1)})


def _score_head(weights: Weights, folder: CrossEncoderFolder) -> Linear:
    """Return weight ``[1, width]`` and bias ``[1]``; two classes, no and yes, become one output: the log-odds of yes."""
    weight, bias = linear_head(weights, "classifier", folder.path, folder.config)
    folder.check_classes(len(weight))
    return (weight, bias) if len(weight) == 1 else (weight[1:] - weight[:1], bias[1:] - bias[:1])
