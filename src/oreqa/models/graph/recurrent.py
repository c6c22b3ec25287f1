"""The OpenVINO graph of a recurrent encoder (``models.encoder.module``), built from a model folder's safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import Constants, Graph, embed_tokens, ints, token_inputs
from oreqa.models.graph.quiet_openvino import op
from oreqa.models.names import whole_number

_GATES = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (1, 0, 2, 3)}
"""The gates in OpenVINO's order, by their places in torch's: a GRU's z, r, h are torch's 1, 0, 2 of r, z, n; an LSTM's
f, i, c, o are 1, 0, 2, 3 of i, f, g, o."""


def recurrent_graph(folder: Path, weights: Mapping[str, np.ndarray], config: Mapping[str, Any]) -> Graph:
    """Build BERT's embeddings and ``num_hidden_layers`` bidirectional layers of the ``cell`` rnn, gru or lstm.

    Raises ModelError if a tensor is missing or does not have the shape that ``config`` implies.
    """
    tensors, cell = Constants(folder, weights, config), config["cell"]
    depth = whole_number(config, "num_hidden_layers", folder, minimum=1)
    if tensors.width % 2:
        raise ModelError(f"{folder}: its hidden_size {tensors.width} must be even, half of it for each direction")
    inputs = token_inputs()
    x, words = embed_tokens(tensors, inputs)
    lengths = op.reduce_sum(inputs["attention_mask"], ints(1))
    present = op.unsqueeze(op.convert(inputs["attention_mask"], np.float32), ints(2))
    for layer in range(depth):
        ahead = _direction(x, tensors, cell, f"l{layer}")
        backwards = _direction(op.reverse_sequence(x, lengths, 0, 1), tensors, cell, f"l{layer}_reverse")
        both = op.concat([ahead, op.reverse_sequence(backwards, lengths, 0, 1)], 2)
        x = op.multiply(both, present)
    return Graph(inputs, x, words)


def _direction(x: Any, tensors: Constants, cell: str, name: str) -> Any:
    """One direction of a layer, padding and all: ``[batch, tokens, width]`` to ``[batch, tokens, width / 2]``.

    OpenVINO's CPU plugin ignores the sequences' lengths: it can read only from the front.
    """
    half, gates = tensors.width // 2, _GATES[cell]

    def weights(part: str, *shape: int) -> np.ndarray:
        """A weight ``[1, gates * half, ...]`` with its gates in OpenVINO's order."""
        parts = np.split(tensors.array(f"recurrent.{part}_{name}", len(gates) * half, *shape), len(gates))
        return np.concatenate([parts[gate] for gate in gates])[None]

    of_inputs, of_states = weights("bias_ih"), weights("bias_hh")
    bias = of_inputs + of_states
    if cell == "gru":  # the candidate's bias of the states stands inside the reset gate's product, by itself
        bias = np.concatenate([bias[:, : 2 * half], of_inputs[:, 2 * half :], of_states[:, 2 * half :]], 1)
    shape = op.shape_of(x)
    batch, tokens = (op.gather(shape, ints(axis), op.constant(np.array(0, np.int64))) for axis in (0, 1))
    start = op.broadcast(op.constant(np.float32(0)), op.concat([batch, ints(1, half)], 0))
    lengths = op.broadcast(tokens, batch)
    matrices = weights("weight_ih", tensors.width), weights("weight_hh", half)
    parts = [lengths, *(op.constant(np.ascontiguousarray(value)) for value in (*matrices, bias)), half, "forward"]
    if cell == "lstm":
        sequence = op.lstm_sequence(x, start, start, *parts)
    elif cell == "gru":
        sequence = op.gru_sequence(x, start, *parts, linear_before_reset=True)
    else:
        sequence = op.rnn_sequence(x, start, *parts)
    return op.squeeze(sequence.output(0), ints(1))
