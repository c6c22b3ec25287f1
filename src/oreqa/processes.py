"""What belongs to one process: models, whose threads a fork does not copy, and opened indexes."""

from __future__ import annotations

import os
from typing import Any, NoReturn, Self

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
