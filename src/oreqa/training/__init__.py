"""One short trainer for each model, recipes, and the records that runs leave behind.

``train_model`` does what ``oreqa train`` does; it is imported when it is asked for.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from oreqa.errors import INSTALL_TRAIN, ModelError

if TYPE_CHECKING:
    from oreqa.training.train import train_model

__all__ = ["need_torch", "train_model"]

_NEEDED = ("torch", "transformers", "sentence_transformers", "pydantic", "accelerate")


def need_torch() -> None:
    """Raise ModelError, with the line that mends it, where the training extra is not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ModelError(f"training needs {', '.join(missing)}: {INSTALL_TRAIN}")


def __getattr__(name: str) -> Any:
    if name == "train_model":
        need_torch()
        from oreqa.training.train import train_model

        return train_model
    raise AttributeError(f"module 'oreqa.training' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
