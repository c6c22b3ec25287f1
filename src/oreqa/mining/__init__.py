"""Training data that models find: negatives, silver pairs, a reader's predictions; and pairs of sentences and passages.

Each function does what the command of its name does (``oreqa mine silver`` is ``mine_silver``). They are imported when they
are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.mining.cloze import mine_cloze
    from oreqa.mining.negatives import mine_negatives
    from oreqa.mining.predictions import mine_predictions
    from oreqa.mining.silver import mine_silver

__all__ = ["mine_cloze", "mine_negatives", "mine_predictions", "mine_silver"]

_HOMES = {
    "mine_cloze": "cloze",
    "mine_negatives": "negatives",
    "mine_predictions": "predictions",
    "mine_silver": "silver",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"oreqa.mining.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'oreqa.mining' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
