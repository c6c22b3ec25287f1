"""oreqa: answers questions from your documents, with the sentence and the passage that prove it.

>>> from oreqa import Answerer
>>> answers = Answerer.load("kb").ask("How tall is the tower?")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.answering import Answerer
    from oreqa.index.ingest import index_files
    from oreqa.index.search import Index
    from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
    from oreqa.models.encoder.encoder import Encoder
    from oreqa.models.reader.reader import Reader

__all__ = ["Answerer", "CrossEncoder", "Encoder", "Index", "Reader", "index_files"]

_HOMES = {
    "Answerer": "oreqa.answering",
    "Encoder": "oreqa.models.encoder.encoder",
    "Index": "oreqa.index.search",
    "Reader": "oreqa.models.reader.reader",
    "CrossEncoder": "oreqa.models.cross_encoder.cross_encoder",
    "index_files": "oreqa.index.ingest",
}


def __getattr__(name: str) -> Any:
    """Import the main names when they are asked for, so that ``import oreqa`` and the command's help stay instant."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'oreqa' has no attribute {name!r}")
