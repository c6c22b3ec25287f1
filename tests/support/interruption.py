"""Trainings that are interrupted, and disks that fill up."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Files of this process can grow to ``size`` bytes, as on a disk that fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
