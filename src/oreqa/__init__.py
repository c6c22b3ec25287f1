"""oreqa: answers questions from your documents, with the sentence and the passage that prove it.

>>> import oreqa
>>> report = oreqa.index_files("kb", "docs")
>>> answerer = oreqa.Answerer.load("kb")
>>> print(answerer.ask("How many hearts does an octopus have?")[0].text)
three
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.answering import Answerer, Reply
    from oreqa.core import Answer, Document, Hit, Passage, Place, Section, Sentence, Span
    from oreqa.corpus.readers import Fields
    from oreqa.datasets.pairs import Candidate
    from oreqa.errors import DocumentError, IndexStateError, InputError, ModelError, OreqaError
    from oreqa.index.in_memory import index_documents
    from oreqa.index.ingest import index_files
    from oreqa.index.report import Report
    from oreqa.index.search import Index
    from oreqa.index.store import Settings
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.encoder.encoder import Encoder
    from oreqa.models.extractor.extractor import Extractor
    from oreqa.models.generator.decoding import BeamSearch, Nucleus
    from oreqa.models.generator.generator import GeneratedQuestion, QuestionGenerator
    from oreqa.models.generator.inputs import MarkedAnswer
    from oreqa.models.reader.reader import Reader

    __version__: str

_NAMES = {
    "oreqa.answering": ("Answerer", "Reply"),
    "oreqa.core": ("Answer", "Document", "Hit", "Passage", "Place", "Section", "Sentence", "Span"),
    "oreqa.corpus.readers": ("Fields",),
    "oreqa.datasets.pairs": ("Candidate",),
    "oreqa.errors": ("DocumentError", "IndexStateError", "InputError", "ModelError", "OreqaError"),
    "oreqa.index.in_memory": ("index_documents",),
    "oreqa.index.ingest": ("index_files",),
    "oreqa.index.report": ("Report",),
    "oreqa.index.search": ("Index",),
    "oreqa.index.store": ("Settings",),
    "oreqa.models.cross_encoder.cross_encoder": ("CrossEncoder",),
    "oreqa.models.encoder.encoder": ("Encoder",),
    "oreqa.models.extractor.extractor": ("Extractor",),
    "oreqa.models.generator.decoding": ("BeamSearch", "Nucleus"),
    "oreqa.models.generator.generator": ("GeneratedQuestion", "QuestionGenerator"),
    "oreqa.models.generator.inputs": ("MarkedAnswer",),
    "oreqa.models.reader.reader": ("Reader",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

_PACKAGES = ("adaptation", "evaluation", "generation", "mining", "training")
"""Packages of functions that are imported when they are asked for, as ``oreqa.evaluation.evaluate_reqa``."""

__all__ = [
    "Answer",
    "Answerer",
    "BeamSearch",
    "Candidate",
    "CrossEncoder",
    "Document",
    "DocumentError",
    "Encoder",
    "Extractor",
    "Fields",
    "GeneratedQuestion",
    "Hit",
    "Index",
    "IndexStateError",
    "InputError",
    "MarkedAnswer",
    "ModelError",
    "Nucleus",
    "OreqaError",
    "Passage",
    "Place",
    "QuestionGenerator",
    "Reader",
    "Reply",
    "Report",
    "Section",
    "Sentence",
    "Settings",
    "Span",
    "__version__",
    "index_documents",
    "index_files",
]


def __getattr__(name: str) -> Any:
    """Import the public names when they are asked for, so that ``import oreqa`` and the command's help stay instant."""
    if name == "__version__":
        from importlib.metadata import version

        return version("oreqa")
    if name in _PACKAGES:
        from importlib import import_module

        return import_module(f"oreqa.{name}")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'oreqa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES]
