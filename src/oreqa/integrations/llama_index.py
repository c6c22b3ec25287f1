"""LlamaIndex: the best passages of an index as nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from oreqa.arguments import Where
from oreqa.core import Hit, Mode
from oreqa.index.search import Index
from oreqa.integrations.shared import SharedIndex, check_search, hit_metadata, missing_extra

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
except ModuleNotFoundError as error:
    raise missing_extra(error, "llama_index", "llama-index-core", "llama-index") from None


class OreqaRetriever(BaseRetriever):  # type: ignore[misc]  # checked without LlamaIndex
    """The ``similarity_top_k`` best passages of an index, as a folder or opened, for ``retrieve``, ``aretrieve``, engines.

    ``where`` maps document fields to the values that they must have; other ``options`` are those of LlamaIndex's
    BaseRetriever. A node's ``start_char_idx`` and ``end_char_idx`` are characters of its document's text, and the document
    is its source. Raises InputError for invalid values, IndexStateError from a search if there is no index.

    Examples:
        >>> retriever = OreqaRetriever(index="kb", similarity_top_k=3)
        >>> retriever.retrieve("How many hearts does an octopus have?")[0].metadata["sentence"]
        'An octopus has three hearts.'
    """

    def __init__(
        self,
        index: str | Path | Index,
        similarity_top_k: int = 10,
        mode: Mode = "hybrid",
        where: Where = (),
        **options: Any,
    ) -> None:
        check_search(similarity_top_k, mode, where, "similarity_top_k")
        self._shared = SharedIndex(index)
        self.similarity_top_k, self.mode, self.where = similarity_top_k, mode, where
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._shared.passages(query_bundle.query_str, self.similarity_top_k, self.mode, self.where)
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Search in a thread, so that the event loop continues."""
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(hit: Hit) -> TextNode:
    """Return a node, whose id is stable as long as its passage stays in place."""
    passage = hit.passage
    return TextNode(
        id_=f"{passage.document_key}#{passage.start}-{passage.end}",
        text=passage.text,
        metadata=hit_metadata(hit),
        # The answering model sees the passage and its origin; the sentence is already in the passage.
        excluded_llm_metadata_keys=["sentence", "sentence_start", "sentence_end", "start", "end"],
        start_char_idx=passage.start,
        end_char_idx=passage.end,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document_key)},
    )
