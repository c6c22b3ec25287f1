"""Haystack: components that find passages and answers, for pipelines."""

from oreqa.integrations.haystack.reader import OreqaReader
from oreqa.integrations.haystack.retriever import OreqaRetriever

__all__ = ["OreqaReader", "OreqaRetriever"]
