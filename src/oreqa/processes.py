"""What belongs to one process: models, whose threads a fork does not copy, opened indexes, and the kernels kept for them."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NoReturn, Self, TypeVar
from weakref import WeakSet

from oreqa.errors import InputError

_INSTEAD = "open the index and load the models in the process that uses them"


class OfOneProcess:
    """An object that works in the process that made it, and in no other."""

    _process: int

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        self._process = os.getpid()
        return self

    def check_process(self) -> None:
        """Raise InputError in a process that was forked from the one that made the object: there it would hang."""
        if self._process != os.getpid():
            raise InputError(f"this process was forked after a model was loaded or an index opened: {_INSTEAD}")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raise InputError: pickling it fails, as multiprocessing does with what it hands to another process."""
        raise InputError(f"{type(self).__name__} cannot be pickled or copied: {_INSTEAD}")


Model = TypeVar("Model")

_models: WeakSet[Any] = WeakSet()


def never_freed_after_fork(model: Model) -> Model:
    """Return a compiled model, which a forked process will not free: that waits for threads which a fork does not copy."""
    _models.add(model)
    return model


def _keep_models() -> None:
    for model in _models:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(model))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_models)


def limit_kernel_cache() -> None:
    """Let oneDNN keep the kernels of 32 shapes, not of 1,024, unless the user has set another number.

    Batches of texts hardly ever have the same shape, so that its cache grows with every step, in a training in bf16 to many
    gigabytes, and saves nothing. It reads the number when it computes for the first time. It is for commands that run long:
    a library leaves its caller's environment alone.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
