"""Objects bound to one process: models, whose threads a fork does not copy, open indexes, and cached kernels."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NoReturn, Self, TypeVar
from weakref import WeakSet

from oreqa.errors import InputError

_INSTEAD = "open the index and load the models in the process that uses them"


class OfOneProcess:
    """An object that works only in the process that created it."""

    _process: int

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        self._process = os.getpid()
        return self

    def check_process(self) -> None:
        """Raise InputError in a process forked from the one that created the object: it would hang there."""
        if self._process != os.getpid():
            raise InputError(f"this process was forked after a model was loaded or an index opened: {_INSTEAD}")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise InputError: the object cannot be pickled, which multiprocessing does with what it passes on."""
        raise InputError(f"{type(self).__name__} cannot be pickled or copied: {_INSTEAD}")


Model = TypeVar("Model")

_models: WeakSet[Any] = WeakSet()


def never_freed_after_fork(model: Model) -> Model:
    """Return a compiled model that a forked process will not free: freeing waits for threads that a fork does not copy."""
    _models.add(model)
    return model


def _keep_models() -> None:
    for model in _models:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_models)


def limit_kernel_cache() -> None:
    """Make oneDNN cache the kernels of 32 shapes, not 1,024, unless the user has set another number.

    Batches of texts rarely have the same shape, so that its cache grows with every step (in bf16 training to many gigabytes)
    without benefit. oneDNN reads the number at its first computation. Only for long-running commands: a library must not
    change its caller's environment.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
