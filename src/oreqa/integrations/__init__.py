"""oreqa where people already work: components of other frameworks, a module for each."""

__all__ = ["haystack", "langchain", "llama_index"]
