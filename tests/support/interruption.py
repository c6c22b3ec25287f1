"""Trainings that are interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def interrupted(train: Callable[[], object], step: int | None = None) -> None:
    """Run a training until it is interrupted after ``step``, or after all steps but before the model is saved."""
    from transformers import TrainerCallback, trainer

    class Stop(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step:
                raise KeyboardInterrupt

        def on_train_end(self, *_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

    trainer.DEFAULT_CALLBACKS.append(Stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            train()
    finally:
        trainer.DEFAULT_CALLBACKS.remove(Stop)
