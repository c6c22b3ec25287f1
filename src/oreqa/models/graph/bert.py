"""BERT (Devlin et al. 2019): post-norm layers over words, positions and segments."""

from __future__ import annotations

from oreqa.models.graph.layers import Constants, Graph, Options, embed_tokens
from oreqa.models.graph.post_norm import post_norm_layers


def bert_graph(tensors: Constants, options: Options) -> Graph:
    """Build BERT's encoder."""
    return post_norm_layers(tensors, embed_tokens(tensors, options), options)
