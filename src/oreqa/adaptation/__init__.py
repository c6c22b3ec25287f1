"""Models adapted to the documents of an index, from these documents alone.

``adapt_index`` does what ``oreqa adapt`` does; it is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.adaptation.report import AdaptationReport as AdaptationReport
from oreqa.lazy import lazy_names
from oreqa.training import need_torch

if TYPE_CHECKING:
    from oreqa.adaptation.adapt import adapt_index as adapt_index

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, ["AdaptationReport"], need_torch)
