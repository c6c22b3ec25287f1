"""The losses that recipes can name. A new one is a function in ``oreqa/losses`` and a row here, which imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic_core import core_schema

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Loss:
    """A function of ``oreqa.losses``. Its first arguments are what a batch of its family provides."""

    function: str
    """``module:function`` in ``oreqa.losses``."""
    settings: tuple[str, ...] = ()
    """Its remaining arguments: keys or properties of the recipe."""
    pointwise: bool = False
    """For a cross-encoder: candidates are scored independently, in batches of any questions' candidates."""
    shared: bool = False
    """For a reader: spans are normalised over all passages of a question, in training and inference."""

    def of(self, recipe: object) -> Callable[..., Tensor]:
        """Return the function with the recipe's settings bound."""
        function: Callable[..., Tensor] = resolve_name(f"oreqa.losses.{self.function}")
        settings: dict[str, Any] = {name: getattr(recipe, name) for name in self.settings}
        return lambda *batch: function(*batch, **settings)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Annotates a recipe's key whose values are the ``names`` of a table's rows."""

    names: Mapping[str, Loss]

    def __get_pydantic_core_schema__(self, *_: Any) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self.names))


RETRIEVER_LOSSES = {
    "softmax": Loss("retrieval:softmax", ("scale",)),
    "soft_labels": Loss("retrieval:soft_labels", ("scale",)),
}
"""Losses of ``losses.retrieval.RetrieverVectors``."""

READER_LOSSES = {
    "dpr": Loss("reading:dpr", ("null",)),
    "shared": Loss("reading:shared_normalisation", ("null",), shared=True),
}
"""Losses of ``losses.reading.ReaderLogits``."""

CROSS_ENCODER_LOSSES = {
    "cross_entropy": Loss("reranking:cross_entropy", pointwise=True),
    "listwise_softmax": Loss("reranking:listwise"),
}
"""Losses of ``losses.reranking.CrossEncoderScores``."""

OPENQA_LOSSES = {
    "shared": Loss("open_retrieval:shared", ("skip_unread",)),
    "shared_joint": Loss("open_retrieval:shared_joint", ("skip_unread",)),
    "shared_rerank": Loss("open_retrieval:shared_rerank", ("skip_unread",)),
    "joint": Loss("open_retrieval:joint", ("skip_unread",)),
    "separate": Loss("open_retrieval:separate", ("skip_unread",)),
}
"""Losses of ``losses.open_retrieval.OpenQAScores``."""

EXTRACTOR_LOSSES = {
    "softmax": Loss("generation:span_softmax"),
    "cross_entropy": Loss("generation:span_cross_entropy", ("negatives",)),
}
"""Losses of the scores of a batch's spans, which of them are allowed, and which were asked about."""
