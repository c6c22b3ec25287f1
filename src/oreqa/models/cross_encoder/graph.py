"""Runs the cross-encoder on the CPU with OpenVINO."""

from __future__ import annotations

from oreqa.models.cross_encoder.inputs import CrossEncoderFolder
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.heads import before_output, mean_of_tokens
from oreqa.models.graph.layers import dense, first_token, pick
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.settings import is_foreign
from oreqa.models.weights import Linear, Weights, linear_head, load_weights, output_layer


def open_session(folder: CrossEncoderFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with one output: scores ``[batch]``, which are log-odds for a classifier."""
    precision = heads_precision(precision)
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: CrossEncoderFolder, eight_bits: bool) -> ov.Model:
    """Build the graph: one score per input from [CLS], or from the mean of the tokens, through the head's layers."""
    if is_foreign(folder.path, folder.config):
        return _foreign(folder, eight_bits)
    weights, config = load_weights(folder.path), folder.config
    takes_mean = config.get("classifier_pooling") == "mean"
    graph = build_graph(folder.path, weights, config, eight_bits=eight_bits, cls_only=not takes_mean)
    pooled = mean_of_tokens(graph) if takes_mean else first_token(graph.hidden)
    score = dense(before_output(pooled, weights, folder.path, config), *_score_head(weights, folder))
    return graph.model({"scores": pick(score, 0, axis=1)})


def _foreign(folder: CrossEncoderFolder, eight_bits: bool) -> ov.Model:
    from oreqa.models.graph.foreign import foreign_graph  # few models need it

    graph = foreign_graph(folder.path, folder.config, "SequenceClassification", eight_bits)
    classes = len(folder.config.get("id2label") or "01")
    folder.check_classes(classes)
    if classes == 1:
        return graph.model({"scores": pick(graph.hidden, 0, axis=1)})
    yes, no = (pick(graph.hidden, label, axis=1) for label in (folder.yes, 1 - folder.yes))
    return graph.model({"scores": op.subtract(yes, no)})


def _score_head(weights: Weights, folder: CrossEncoderFolder) -> Linear:
    """Return weight ``[1, width]`` and bias ``[1]``; two classes, no and yes, become one output: the log-odds of yes."""
    weight, bias = linear_head(weights, output_layer(weights), folder.path, folder.config)
    folder.check_classes(len(weight))
    if len(weight) == 1:
        return weight, bias
    yes, no = folder.yes, 1 - folder.yes
    return weight[yes : yes + 1] - weight[no : no + 1], bias[yes : yes + 1] - bias[no : no + 1]
