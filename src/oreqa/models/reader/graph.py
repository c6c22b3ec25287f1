"""Runs the reader on the CPU with OpenVINO."""

from __future__ import annotations

from typing import Any

from oreqa.errors import ModelError
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.heads import before_output
from oreqa.models.graph.layers import dense, first_token, pick
from oreqa.models.graph.openvino import OpenVinoSession, compile_cached
from oreqa.models.graph.precision import heads_precision
from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.reader.blocks import BLOCK_HEAD, knows_blocks
from oreqa.models.reader.inputs import ReaderFolder
from oreqa.models.settings import is_foreign
from oreqa.models.weights import linear_head, load_weights


def open_session(folder: ReaderFolder, key: str, precision: str | None) -> OpenVinoSession:
    """Return a session with outputs: start and end logits ``[batch, tokens]``.

    A reader trained to select passages also has selection logits ``[batch]``, one with a block head also block log-odds
    ``[batch, tokens]``.
    """
    precision = heads_precision(precision)
    return OpenVinoSession(compile_cached(key, lambda: _graph(folder, precision == "i8"), precision))


def _graph(folder: ReaderFolder, eight_bits: bool) -> ov.Model:
    if is_foreign(folder.path, folder.config):
        from oreqa.models.graph.foreign import foreign_graph  # few models need it

        graph = foreign_graph(folder.path, folder.config, "QuestionAnswering", eight_bits)
        return graph.model(_start_and_end(graph.hidden))
    weights = load_weights(folder.path)
    graph = build_graph(folder.path, weights, folder.config, eight_bits=eight_bits)
    hidden, name = graph.hidden, "qa_outputs"
    if "qa_outputs.weight" not in weights and "head.dense.weight" in weights:  # ModernBERT's
        hidden, name = before_output(hidden, weights, folder.path, folder.config), "classifier"
    weight, bias = linear_head(weights, name, folder.path, folder.config)
    if len(weight) < 2:
        raise ModelError(f"{folder.path}: its {name} has {len(weight)} output; a reader needs two, start and end")
    ends = dense(hidden, weight[:2], bias[:2])
    outputs = _start_and_end(ends)
    if "qa_classifier.weight" in weights:
        selection = dense(first_token(hidden), *linear_head(weights, "qa_classifier", folder.path, folder.config))
        outputs["selection"] = pick(selection, 0, axis=1)
        if knows_blocks(weights):
            blocks = dense(hidden, *linear_head(weights, BLOCK_HEAD, folder.path, folder.config))
            outputs["blocks"] = pick(blocks, 0, axis=2)
    return graph.model(outputs)


def _start_and_end(ends: Any) -> dict[str, Any]:
    return {name: pick(ends, place, axis=2) for place, name in enumerate(("start", "end"))}
