"""The OpenVINO graph of a recurrent encoder (``models.encoder.module``), built from a model folder's safetensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from oreqa.errors import ModelError
from oreqa.models.graph.layers import Constants, Graph, Options, embed_tokens, ints, scalar
from oreqa.models.graph.quiet_openvino import op

_GATES = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (1, 0, 2, 3)}
"""The gates in OpenVINO's order, as indices into torch's: a GRU's z, r, h are torch's 1, 0, 2 of r, z, n; an LSTM's f, i, c,
o are 1, 0, 2, 3 of i, f, g, o."""


def recurrent_graph(tensors: Constants, options: Options) -> Graph:
    """Build BERT's embeddings and ``num_hidden_layers`` bidirectional layers of the ``cell`` rnn, gru or lstm."""
    if tensors.width % 2:
        raise ModelError(f"{tensors.folder}: its hidden_size {tensors.width} must be even, half of it for each direction")
    embedded, cell = embed_tokens(tensors, options), tensors.config["cell"]
    inputs, x = embedded.inputs, embedded.hidden
    lengths = op.reduce_sum(inputs["attention_mask"], ints(1))
    present = op.unsqueeze(op.convert(inputs["attention_mask"], np.float32), ints(2))
    for layer in range(tensors.depth):
        ahead = _direction(x, tensors, cell, f"l{layer}")
        backwards = _direction(op.reverse_sequence(x, lengths, 0, 1), tensors, cell, f"l{layer}_reverse")
        both = op.concat([ahead, op.reverse_sequence(backwards, lengths, 0, 1)], 2)
        x = op.multiply(both, present)
    return Graph(inputs, x, embedded.words)


def _direction(x: Any, tensors: Constants, cell: str, name: str) -> Any:
    """Return one direction of a layer, including padding: ``[batch, tokens, width]`` to ``[batch, tokens, width / 2]``.

    OpenVINO's CPU plugin ignores sequence lengths: it can read only from the front.
    """
    half, gates = tensors.width // 2, _GATES[cell]

    def weights(part: str, *shape: int) -> np.ndarray:
        """Return a weight ``[1, gates * half, ...]`` with its gates in OpenVINO's order."""
        parts = np.split(tensors.array(f"recurrent.{part}_{name}", len(gates) * half, *shape), len(gates))
        return np.concatenate([parts[gate] for gate in gates])[None]

    input_bias, state_bias = weights("bias_ih"), weights("bias_hh")
    bias = input_bias + state_bias
    if cell == "gru":  # the candidate's state bias is inside the reset gate's product, separately
        bias = np.concatenate([bias[:, : 2 * half], input_bias[:, 2 * half :], state_bias[:, 2 * half :]], 1)
    shape = op.shape_of(x)
    batch, tokens = (op.gather(shape, ints(axis), scalar(0)) for axis in (0, 1))
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
