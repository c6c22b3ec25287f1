"""Models adapted to the documents of an index, from these documents alone.

``adapt_index`` does what ``oreqa adapt`` does; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oreqa.adaptation.report import AdaptationReport
from oreqa.training import need_torch

if TYPE_CHECKING:
    from oreqa.adaptation.adapt import adapt_index

__all__ = ["AdaptationReport", "adapt_index"]


def __getattr__(name: str) -> Any:
    if name == "adapt_index":
        need_torch()
        from oreqa.adaptation.adapt import adapt_index

        return adapt_index
    raise AttributeError(f"module 'oreqa.adaptation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
