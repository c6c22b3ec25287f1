"""Models adapted to the documents of an index, from these documents alone."""

from oreqa.adaptation.adapt import adapt_index
from oreqa.adaptation.report import AdaptationReport

__all__ = ["AdaptationReport", "adapt_index"]
