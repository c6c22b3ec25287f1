"""Passages and vectors on disk; sparse, dense and hybrid search."""

from oreqa.index.search import Index

__all__ = ["Index"]
