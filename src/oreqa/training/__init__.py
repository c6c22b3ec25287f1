"""One short trainer for each model, recipes, and the records that runs leave behind."""

from __future__ import annotations

from importlib.util import find_spec

from oreqa.errors import ModelError


def need_torch() -> None:
    """Raise ModelError, with the line that mends it, where the training extra is not installed."""
    missing = [name for name in ("torch", "transformers", "pydantic", "accelerate") if find_spec(name) is None]
    if missing:
        raise ModelError(f"training needs {', '.join(missing)}: pip install 'oreqa[train]'")
