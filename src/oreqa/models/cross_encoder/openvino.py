"""Run the cross-encoder on the CPU with OpenVINO."""

from __future__ import annotations

from oreqa.models.cross_encoder.folder import CrossEncoderFolder, check_classes
from oreqa.models.graph import bert
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.compile import compile_cached
from oreqa.models.graph.openvino import OpenVinoSession
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.graph.weights import Linear, Weights, linear_head, load_weights


def open_session(folder: CrossEncoderFolder, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: scores ``[batch]``, which are log-odds for a classifier."""
    precision = heads_precision(precision)
    key = f"cross-encoder-{cached_fingerprint(folder.path)[:32]}"
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: CrossEncoderFolder, eight_bits: bool) -> ov.Model:
    """Build the graph: one score per input from [CLS], through BERT's pooler if the model has one."""
    weights = load_weights(folder.path)
    graph = bert.bert_graph(folder.path, weights, folder.config, eight_bits=eight_bits, cls_only=True)
    first = bert.first_token(graph.hidden)
    if "bert.pooler.dense.weight" in weights:
        first = bert.dense(first, *linear_head(weights, "bert.pooler.dense", folder.path, folder.config), "tanh")
    score = bert.dense(first, *_score_head(weights, folder), "identity")
    return bert.as_model(graph, {}, {"scores": bert.pick(score, 0, axis=1)})


def _score_head(weights: Weights, folder: CrossEncoderFolder) -> Linear:
    """Return weight ``[1, width]`` and bias ``[1]``; two classes, no and yes, become one output: the log-odds of yes."""
    weight, bias = linear_head(weights, "classifier", folder.path, folder.config)
    check_classes(folder, len(weight))
    return (weight, bias) if len(weight) == 1 else (weight[1:] - weight[:1], bias[1:] - bias[:1])
