"""Models adapted to the documents of an index, from these documents alone."""

from oreqa.adaptation.adapt import AdaptationReport, adapt_index

__all__ = ["AdaptationReport", "adapt_index"]
