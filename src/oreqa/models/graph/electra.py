"""ELECTRA's discriminator (Clark et al. 2020): BERT, whose embeddings may be narrower than its layers."""

from __future__ import annotations

from dataclasses import replace

from oreqa.models.graph.layers import Constants, Graph, Options, embed_tokens
from oreqa.models.graph.post_norm import post_norm_layers


def electra_graph(tensors: Constants, options: Options) -> Graph:
    """Build ELECTRA's encoder."""
    width = tensors.number("embedding_size", tensors.width, minimum=1)
    embedded = embed_tokens(tensors, options, width=width)
    if width != tensors.width:
        projected = tensors.linear(embedded.hidden, "embeddings_project", tensors.width, width, options.eight_bits)
        embedded = replace(embedded, hidden=projected)
    return post_norm_layers(tensors, embedded, options)
