"""Components for other frameworks, one module per framework."""

__all__ = ["haystack", "langchain", "llama_index"]
