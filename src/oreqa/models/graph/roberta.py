"""RoBERTa (Liu et al. 2019) and XLM-R (Conneau et al. 2020): BERT whose positions begin after the padding's id."""

from __future__ import annotations

from oreqa.models.graph.layers import Constants, Graph, Options, embed_tokens
from oreqa.models.graph.post_norm import post_norm_layers
from oreqa.models.settings import first_position


def roberta_graph(tensors: Constants, options: Options) -> Graph:
    """Build RoBERTa's encoder."""
    first = first_position(tensors.config, tensors.folder)
    return post_norm_layers(tensors, embed_tokens(tensors, options, first_position=first), options)
