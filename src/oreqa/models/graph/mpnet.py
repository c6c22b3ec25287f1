"""MPNet (Song et al. 2020): RoBERTa without segments, whose attention also depends on the distance between tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oreqa.models.graph.layers import Constants, Graph, Options, distances, embed_tokens, ints, scalar
from oreqa.models.graph.post_norm import LayerNames, post_norm_layers
from oreqa.models.graph.quiet_openvino import op

_NAMES = LayerNames(
    query="attention.attn.q",
    key="attention.attn.k",
    value="attention.attn.v",
    attended="attention.attn.o",
    attention_norm="attention.LayerNorm",
)

_FIRST_POSITION = 2
_BUCKETS, _FARTHEST = 32, 128


def mpnet_graph(tensors: Constants, options: Options) -> Graph:
    """Build MPNet's encoder."""
    embedded = embed_tokens(tensors, options, first_position=_FIRST_POSITION, segments=False)
    bias = _position_bias(tensors, embedded.inputs, options)
    return post_norm_layers(tensors, embedded, options, _NAMES, bias)


def buckets(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bucket of each distance, from a token to the one it attends to.

    Each direction has half of the buckets: near tokens have one each, and farther ones, up to 128, share buckets that grow
    with the logarithm of the distance.
    """
    half, exact = _BUCKETS // 2, _BUCKETS // 4
    size = np.abs(offsets)
    logarithm = np.log(np.maximum(size, 1).astype(np.float32) / np.float32(exact)) / math.log(_FARTHEST / exact)
    far = np.minimum(exact + (logarithm * (half - exact)).astype(np.int64), half - 1)
    return np.where(offsets > 0, half, 0) + np.where(size < exact, size, far)


def _position_bias(tensors: Constants, inputs: Mapping[str, Any], options: Options) -> Any:
    """Return the attention bias by distance, ``[batch or 1, heads, tokens, all tokens]``; layers share it."""
    longest = len(tensors.array("embeddings.position_embeddings.weight", None, tensors.width)) - _FIRST_POSITION
    by_bucket = tensors.array("encoder.relative_attention_bias.weight", _BUCKETS, tensors.heads())
    by_distance = by_bucket[buckets(np.arange(1 - longest, longest))].T  # [heads, distances], from the lowest
    if options.cached:  # positions count tokens; keys are those of earlier calls, too
        keys = op.unsqueeze(op.subtract(op.cum_sum(inputs["attention_mask"], scalar(1)), scalar(1)), ints(1))
        offsets = op.subtract(keys, op.unsqueeze(inputs["position_ids"], ints(2)))
    else:
        offsets = op.unsqueeze(distances(inputs), ints(0))
    places = op.add(offsets, scalar(longest - 1))
    by_head = op.gather(op.constant(np.ascontiguousarray(by_distance)), places, scalar(1))
    return op.transpose(by_head, ints(1, 0, 2, 3))
