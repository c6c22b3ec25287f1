"""Questions to answers: the one place that composes search, reader, re-ranker and confidence."""

from oreqa.answering.answerer import Answerer

__all__ = ["Answerer"]
