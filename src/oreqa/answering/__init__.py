"""Turns questions into answers: the one place that composes search, reader, re-ranker and confidence."""

from oreqa.answering.answerer import Answerer
from oreqa.answering.explanation import Explanation
from oreqa.answering.guarantee import Guarantee
from oreqa.answering.reply import Reply

__all__ = ["Answerer", "Explanation", "Guarantee", "Reply"]
