"""Passages of an index as Haystack's Documents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from oreqa.core import Mode
from oreqa.errors import InputError
from oreqa.index.search import Index
from oreqa.integrations.shared import SharedIndex, check_search, hit_metadata, missing_extra

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise missing_extra(error, "haystack", "haystack-ai", "haystack") from None


@component
class OreqaRetriever:
    """Returns the ``top_k`` best passages of an index, given as a folder or opened.

    ``filters`` are Haystack's: comparisons of fields of ``meta`` with ``==`` and ``in``, one or several under AND; those of
    ``run`` replace them. A Document's ``meta`` is that of ``hit_metadata``. Raises InputError for invalid values,
    IndexStateError from ``warm_up`` or ``run`` if there is no index.
    """

    def __init__(
        self,
        index: str | Path | Index,
        top_k: int = 10,
        mode: Mode = "hybrid",
        filters: dict[str, Any] | None = None,
    ) -> None:
        check_search(top_k, mode, _conditions(filters), "top_k")
        self.index, self.top_k, self.mode, self.filters = SharedIndex(index), top_k, mode, filters

    def to_dict(self) -> dict[str, Any]:
        settings = {"top_k": self.top_k, "mode": self.mode, "filters": self.filters}
        return dict(default_to_dict(self, index=str(self.index.folder), **settings))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> OreqaRetriever:
        return default_from_dict(cls, data)  # type: ignore[no-any-return]  # checked without Haystack

    def warm_up(self) -> None:
        """Open the index and load its model."""
        self.index.open(self.mode)

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the best passages for a ``query``."""
        conditions = _conditions(self.filters if filters is None else filters)
        hits = self.index.passages(query, self.top_k if top_k is None else top_k, self.mode, conditions)
        return {"documents": [Document(content=hit.passage.text, meta=hit_metadata(hit), score=hit.score) for hit in hits]}

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Run the same in a thread, so that the event loop continues."""
        return await asyncio.to_thread(self.run, query, filters, top_k)


def _conditions(filters: dict[str, Any] | None) -> list[tuple[str, Any]]:
    """Convert Haystack's filters to search conditions. Raises InputError for those that an index does not support."""
    if not filters:
        return []
    operator, parts = filters.get("operator"), filters.get("conditions")
    if operator == "AND" and isinstance(parts, list):
        return [condition for part in parts for condition in _conditions(part)]
    name, value = filters.get("field"), filters.get("value")
    if operator not in ("==", "in") or not isinstance(name, str):
        raise InputError(f"filters of an index are comparisons with == or in, or several of them under AND, not {filters!r}")
    name = name.removeprefix("meta.")
    return [("path" if name == "key" else name, value)]
