"""One short trainer per model, recipes, and the records that runs leave behind.

``train_model`` does what ``oreqa train`` does; it is imported on first use.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from oreqa.errors import INSTALL_TRAIN, ModelError
from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.training.train import train_model as train_model

_NEEDED = ("torch", "transformers", "sentence_transformers", "pydantic", "accelerate", "peft")


def need_torch() -> None:
    """Raise ModelError, with the command that installs it, if the training extra is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ModelError(f"training needs {', '.join(missing)}: {INSTALL_TRAIN}")


__getattr__, __dir__, __all__ = lazy_names(__name__, __file__, ["need_torch"], need_torch)
