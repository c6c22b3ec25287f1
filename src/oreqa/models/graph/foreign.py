"""Graphs that oreqa does not build: read from the model's folder, or converted from its weights by transformers.

A folder has its graph for OpenVINO or as ONNX (``models.settings.GRAPHS``). Converting needs the ``train`` extra, once:
the cache keeps the graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import INSTALL_TRAIN, ModelError, describe
from oreqa.models.graph.layers import Graph, ints, places, product, scalar, token_inputs
from oreqa.models.graph.quiet_openvino import op, ov
from oreqa.models.settings import GRAPHS, first_position, graph_files

_OUTPUTS = {
    "": (("last_hidden_state", "token_embeddings"),),
    "QuestionAnswering": (("start_logits",), ("end_logits",)),
    "SequenceClassification": (("logits",),),
}
"""Maps the heads of transformers' classes to possible names of their outputs; the first that a graph has is used."""


def foreign_graph(folder: Path, config: Mapping[str, Any], head: str = "", eight_bits: bool = False) -> Graph:
    """Return the graph of the model in ``folder``.

    ``hidden`` is the output of its ``head``: without one, the hidden states ``[batch, tokens, width]``; the start and end
    logits ``[batch, tokens, 2]`` of ``QuestionAnswering``; the logits ``[batch, labels]`` of ``SequenceClassification``.
    ``eight_bits`` quantises its matrices to int8 with one scale per row.

    Raises ModelError if there is neither a graph nor a way to convert the weights, or if it has other inputs or outputs.
    """
    model = _read(folder, config) or _convert(folder, config, head)
    inputs = token_inputs()
    _connect(model, inputs, folder, config)
    if eight_bits:
        _quantise(model)
    outputs = [op.convert(_output(model, names, folder), np.float32) for names in _OUTPUTS[head]]
    hidden = outputs[0] if len(outputs) == 1 else op.concat([op.unsqueeze(output, ints(2)) for output in outputs], 2)
    return Graph(inputs, hidden, None)


def _read(folder: Path, config: Mapping[str, Any]) -> ov.Model | None:
    files = graph_files(folder, config)
    if not files:
        return None
    try:
        return ov.Core().read_model(files[0])
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise ModelError(f"{files[0]}: OpenVINO cannot read it ({reason}); copy or download it again") from error


def _connect(model: ov.Model, inputs: Mapping[str, Any], folder: Path, config: Mapping[str, Any]) -> None:
    """Connect a model to our inputs, with the padding id that some graphs detect, and with position numbers."""
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    padding = scalar(config.get("pad_token_id") or 0)
    positions = op.add(places(inputs), scalar(first_position(config, folder)))
    feeds = {
        "input_ids": op.select(op.equal(mask, scalar(0)), padding, ids),
        "attention_mask": mask,
        "token_type_ids": inputs["token_type_ids"],
        "position_ids": op.broadcast(positions, op.shape_of(ids)),
    }
    for port in model.inputs:
        names = port.get_names() & feeds.keys()
        if not names:
            raise ModelError(f"{folder}: its graph has the input {port.get_any_name()}; oreqa gives {', '.join(feeds)}")
        feed = op.convert(feeds[names.pop()], port.get_element_type().get_type_name())
        port.get_node().output(0).replace(feed.output(0))


def _quantise(model: ov.Model) -> None:
    """Quantise the matrices that multiply hidden states."""
    for node in model.get_ops():
        if node.get_type_name() != "MatMul" or node.input_value(0).get_partial_shape().is_static:
            continue
        weight = node.input_value(1).get_node()
        matrix = weight.input_value(0).get_node() if weight.get_type_name() == "Convert" else weight
        if matrix.get_type_name() == "Constant" and len(matrix.shape) == 2:
            values = matrix.data if node.get_attributes()["transpose_b"] else matrix.data.T
            constant = op.constant(np.ascontiguousarray(values, np.float32))
            node.output(0).replace(product(node.input_value(0), constant, eight_bits=True).output(0))


def _output(model: ov.Model, names: tuple[str, ...], folder: Path) -> Any:
    for port in model.outputs:
        if port.get_names() & set(names):
            return port.get_node().input_value(0)
    names_there = ", ".join(sorted(name for port in model.outputs for name in port.get_names()))
    raise ModelError(
        f"{folder}: its graph has no output {' or '.join(names)}, but {names_there}: it is another kind of model"
    )


def _convert(folder: Path, config: Mapping[str, Any], head: str) -> ov.Model:
    """Convert a model's weights by transformers. Raises ModelError if it needs remote code, or if the extra is missing."""
    graphs = f"put its graph there as {GRAPHS[0]} or {GRAPHS[1]}"
    if "auto_map" in config:
        raise ModelError(
            f"{folder}: its architecture comes as code (auto_map in config.json), which oreqa does not run; {graphs}"
        )
    kind = config.get("model_type")
    try:
        from oreqa.models.graph.torch import load_to_convert, silence_transformers

        with silence_transformers(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about the traced module's code
            module, tokens, lacking = load_to_convert(folder, head)
            model = None if lacking else ov.convert_model(module, example_input=tokens)
    except ImportError:
        raise ModelError(
            f"{folder}: oreqa does not build the model type {kind!r}; {graphs}, or install what converts it: {INSTALL_TRAIN}"
        ) from None
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        failure = f"transformers cannot load or convert the model type {kind!r} ({describe(error)})"
        raise ModelError(f"{folder}: {failure}; {graphs}") from error
    if model is None:
        raise ModelError(f"{folder}: its weights lack {min(lacking)}: they belong to another kind of model")
    return model
