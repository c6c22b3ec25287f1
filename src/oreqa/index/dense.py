"""Vectors in FAISS: built by ``index_factory`` strings, numbered by SQLite's ids, mapped into memory to be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import InputError

Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]

TRAINING_VECTORS = 200_000
"""At most so many vectors, evenly spread, train an index that needs training."""


def check_factory(factory: str, dim: int) -> None:
    """Raise InputError if ``factory`` is no FAISS description that gives vectors back."""
    import faiss

    try:
        faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError:
        raise InputError(f"{factory!r} is not a FAISS index description: use Flat, SQfp16, IVF100,Flat or HNSW32") from None


def build_faiss(factory: str, dim: int, total: int, blocks: Iterator[tuple[Ids, Vectors]], path: Path) -> None:
    """Build an inner-product index of ``total`` vectors that come in blocks with their ids, and write it."""
    import faiss

    inner = faiss.index_factory(dim, _fitted(factory, total), faiss.METRIC_INNER_PRODUCT)
    waiting: list[tuple[Ids, Vectors]] = []
    if not inner.is_trained:
        waiting = list(blocks)
        every = np.concatenate([vectors for _, vectors in waiting]) if waiting else np.zeros((0, dim), np.float32)
        if len(every):
            inner.train(np.ascontiguousarray(every[:: max(1, len(every) // TRAINING_VECTORS)]))
        del every
    index: Any = faiss.IndexIDMap2(inner)
    for ids, vectors in waiting or blocks:
        index.add_with_ids(vectors, ids)
    faiss.write_index(index, str(path))


def _fitted(factory: str, total: int) -> str:
    """IVFn with no more cells than there are vectors to train them (FAISS asks for 39 a cell)."""
    if factory.startswith("IVF"):
        cells, _, rest = factory[3:].partition(",")
        if cells.isdigit() and int(cells) * 39 > total:
            return f"IVF{max(1, total // 39)},{rest}" if total >= 39 else "Flat"
    return factory


class Dense:
    """A FAISS file opened for reading."""

    def __init__(self, path: Path, probes: int = 20) -> None:
        import faiss

        self._index = cast(Any, faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))
        inner: Any = faiss.downcast_index(self._index.index)
        self.exact: Vectors | None = None
        if isinstance(inner, faiss.IndexFlat):
            flat = faiss.rev_swig_ptr(inner.get_xb(), inner.ntotal * inner.d) if inner.ntotal else np.zeros(0)
            self.exact = np.asarray(flat, np.float32).reshape(-1, inner.d)
        elif isinstance(inner, faiss.IndexIVF):
            inner.nprobe = min(probes, inner.nlist)
            inner.make_direct_map()
        elif isinstance(inner, faiss.IndexHNSW):
            inner.hnsw.efSearch = 128

    def search(self, questions: Vectors, k: int, allowed: Ids | None = None) -> Ids:
        """The ids of the ``k`` nearest vectors of every question, -1 where there are fewer: ``[questions, k]``."""
        import faiss

        options: dict[str, Any] = {}
        if allowed is not None:
            options["params"] = _selecting(faiss, faiss.downcast_index(self._index.index), allowed)
        return np.asarray(self._index.search(questions, k, **options)[1])

    def vectors(self, ids: Ids) -> Vectors:
        """The stored vectors of ids: ``[ids, dim]``."""
        return np.asarray(self._index.reconstruct_batch(ids), np.float32)


def _selecting(faiss: Any, inner: Any, allowed: Ids) -> Any:
    chosen = faiss.IDSelectorBatch(allowed)
    if isinstance(inner, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=chosen, nprobe=inner.nprobe)
    if isinstance(inner, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=chosen, efSearch=inner.hnsw.efSearch)
    return faiss.SearchParameters(sel=chosen)
