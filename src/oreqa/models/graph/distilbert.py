"""DistilBERT (Sanh et al. 2019): BERT without segments, under different names."""

from __future__ import annotations

from oreqa.models.graph.layers import Constants, Graph, Options, embed_tokens
from oreqa.models.graph.post_norm import LayerNames, post_norm_layers

_NAMES = LayerNames(
    layers="transformer.layer",
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    attended="attention.out_lin",
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    norm="output_layer_norm",
)


def distilbert_graph(tensors: Constants, options: Options) -> Graph:
    """Build DistilBERT's encoder."""
    return post_norm_layers(tensors, embed_tokens(tensors, options, segments=False), options, _NAMES)
