"""LangChain: the best passages of an index as Documents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from oreqa.core import Hit, Mode
from oreqa.index.search import Index
from oreqa.integrations.shared import SharedIndex, check_search, hit_metadata, missing_extra

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr
except ModuleNotFoundError as error:
    raise missing_extra(error, "langchain_core", "langchain-core", "langchain") from None


class OreqaRetriever(BaseRetriever):  # type: ignore[misc]  # checked without LangChain
    """The ``k`` best passages of an index, given as a folder or opened, for ``invoke``, ``ainvoke`` and chains.

    ``where`` maps document fields to the values that they must have. ``invoke(question, k=3, where=...)`` overrides both
    for one question. A Document's metadata is that of ``hit_metadata``, its ``score``, and its key as ``source``. Raises
    InputError for invalid values, IndexStateError from a search if there is no index.

    Examples:
        >>> retriever = OreqaRetriever(index="kb", k=3)
        >>> retriever.invoke("How many hearts does an octopus have?")[0].metadata["sentence"]
        'An octopus has three hearts.'
    """

    index: str | Path | Index
    k: int = 10
    mode: Mode = "hybrid"
    where: dict[str, Any] = Field(default_factory=dict)
    _shared: SharedIndex = PrivateAttr()

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def model_post_init(self, context: object) -> None:
        check_search(self.k, self.mode, self.where, "k")
        self._shared = SharedIndex(self.index)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        where: dict[str, Any] | None = None,
    ) -> list[Document]:
        conditions = self.where if where is None else where
        hits = self._shared.passages(query, self.k if k is None else k, self.mode, conditions)
        return [Document(page_content=hit.passage.text, metadata=_metadata(hit)) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changes: Any
    ) -> list[Document]:
        """Search in a thread, so that the event loop continues."""
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **changes)


def _metadata(hit: Hit) -> dict[str, Any]:
    return {**hit_metadata(hit), "source": hit.passage.document_key, "score": hit.score}
