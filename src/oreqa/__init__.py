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
    from oreqa.runtime.encoder import Encoder
    from oreqa.runtime.reader import PassageReader

__all__ = ["Answerer", "Encoder", "Index", "PassageReader", "index_files"]

_HOMES = {
    "Answerer": "oreqa.answering",
    "Encoder": "oreqa.runtime.encoder",
    "Index": "oreqa.index.search",
    "PassageReader": "oreqa.runtime.reader",
    "index_files": "oreqa.index.ingest",
}


def __getattr__(name: str) -> Any:
    """Import the main names when they are asked for, so that ``import oreqa`` and the command's help stay instant."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'oreqa' has no attribute {name!r}")
