"""Adapts models to the documents of an index, using only these documents.

``adapt_index`` does what ``oreqa adapt`` does. The names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.adaptation.adapt import adapt_index as adapt_index
    from oreqa.adaptation.report import AdaptationReport as AdaptationReport

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
