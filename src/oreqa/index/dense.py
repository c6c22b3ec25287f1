"""Vectors on disk: mapped codes that are all compared, or an approximate FAISS index, numbered by SQLite's ids."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from oreqa.arrays import Floats, Ids
from oreqa.errors import InputError
from oreqa.index.codes import Codes, inner_products, vectors_of

TRAINING_VECTORS = 200_000
"""At most so many vectors, evenly spread, train an index that needs training."""

BLOCK_SCORES = 1 << 24
"""Inner products that are held at once."""

_FACTORY = re.compile(r"(?:IVF[1-9]\d{0,5},)?(?:Flat|SQfp16|SQ8)|HNSW(?:[2-9]|[1-9]\d{1,2})(?:,Flat|,SQfp16|,SQ8)?")
"""Descriptions whose indexes train on any vectors, select by id and give vectors back. FAISS itself takes many more, and
fails in search or ends the process for some of them."""


def check_factory(factory: str) -> None:
    """Raise InputError if ``factory`` is no FAISS description that works here."""
    if not _FACTORY.fullmatch(factory):
        raise InputError(
            f"{factory!r} is not a FAISS index description that works here: use Flat (exact), SQfp16, SQ8, IVF100,Flat, "
            "IVF100,SQ8, HNSW32 or HNSW32,SQfp16, with numbers of your own"
        )


def fitted_factory(factory: str, total: int) -> str:
    """``factory`` with no more IVF cells than ``total`` vectors can train (FAISS asks for 39 a cell)."""
    if factory.startswith("IVF"):
        cells, _, storage = factory[3:].partition(",")
        if int(cells) * 39 > total:
            return f"IVF{total // 39},{storage}" if total >= 39 else storage
    return factory


def build_faiss(factory: str, dim: int, blocks: Iterator[tuple[Ids, Floats]], path: Path) -> None:
    """Build an inner-product index of vectors that come in blocks with their ids, and write it."""
    import faiss

    inner = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    waiting: list[tuple[Ids, Floats]] = []
    if not inner.is_trained:
        waiting = list(blocks)
        every = np.concatenate([vectors for _, vectors in waiting])
        inner.train(np.ascontiguousarray(every[:: max(1, len(every) // TRAINING_VECTORS)]))
        del every
    index: Any = faiss.IndexIDMap2(inner)
    for ids, vectors in waiting or blocks:
        index.add_with_ids(vectors, ids)
    with path.open("wb") as stream:  # Python's: FAISS does not say whether the end of its file reached the disk
        faiss.write_index(index, faiss.PyCallbackIOWriter(stream.write))  # type: ignore[attr-defined]


def _search_alone() -> None:
    """A forked process lacks the threads that FAISS's OpenMP would wait for."""
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_search_alone)


class CodedVectors:
    """An .npy file of codes mapped into memory: ``rows`` are ``[vectors]``, in the order of the rising ``ids``."""

    def __init__(self, path: Path, ids: Ids) -> None:
        self.rows: Codes = np.asarray(np.load(path, mmap_mode="r"))  # a plain array: slices of a mapped one take long
        self._ids = ids
        if len(self.rows) != len(ids):
            raise ValueError(f"{path} holds {len(self.rows)} vectors for {len(ids)} ids")

    def vectors(self, ids: Ids) -> Floats:
        """The stored vectors of ids: ``[ids, dim]``."""
        return vectors_of(self.rows[np.searchsorted(self._ids, ids)])

    def inner_products(self, questions: Floats, ids: Ids) -> Floats:
        """The inner product of every question and every stored vector, whose ``ids`` these are: ``[questions, vectors]``."""
        return inner_products(questions, self.rows)


class FaissVectors:
    """An approximate FAISS index opened for reading."""

    def __init__(self, path: Path) -> None:
        import faiss

        self._index = cast(Any, faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))
        inner: Any = faiss.downcast_index(self._index.index)
        if isinstance(inner, faiss.IndexIVF):
            inner.nprobe = min(20, inner.nlist)
            inner.make_direct_map()
        elif isinstance(inner, faiss.IndexHNSW):
            inner.hnsw.efSearch = 128

    def search(self, questions: Floats, k: int, allowed: Ids | None = None) -> Ids:
        """The ids of the ``k`` nearest vectors of every question, -1 where there are fewer: ``[questions, k]``."""
        import faiss

        options: dict[str, Any] = {}
        if allowed is not None:
            options["params"] = _selecting(faiss, faiss.downcast_index(self._index.index), allowed)
        return np.asarray(self._index.search(questions, k, **options)[1])

    def vectors(self, ids: Ids) -> Floats:
        """The stored vectors of ids: ``[ids, dim]``."""
        return np.asarray(self._index.reconstruct_batch(ids), np.float32)

    def inner_products(self, questions: Floats, ids: Ids) -> Floats:
        """As ``CodedVectors.inner_products``."""
        products: Floats = questions @ self.vectors(ids).T
        return products


def _selecting(faiss: Any, inner: Any, allowed: Ids) -> Any:
    chosen = faiss.IDSelectorBatch(allowed)
    if isinstance(inner, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=chosen, nprobe=inner.nprobe)
    if isinstance(inner, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=chosen, efSearch=inner.hnsw.efSearch)
    return faiss.SearchParameters(sel=chosen)
