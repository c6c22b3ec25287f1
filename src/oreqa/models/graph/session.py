"""Sessions, one protocol for every family and device: batches of padded inputs in, the same with their outputs out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oreqa.errors import InputError, ModelError

BATCH_TOKENS = 1024
"""Tokens of a batch, padding included: enough to keep the matrix products busy, and small enough for the caches."""

MIN_TOKENS, MIN_BATCHES = 128, 8
"""Little work is split into smaller batches than that, so that all cores have some of it."""

DEVICES = {"cpu": "openvino", "cuda": "torch"}
"""Devices, and the module of a family's folder that runs there."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of like length: the padded arrays that the model takes, each ``[batch, ...]``, and the inputs' numbers."""

    arrays: tuple[NDArray[Any], ...]
    numbers: NDArray[np.intp]


Outputs = Iterator[tuple[Batch, list[NDArray[Any]]]]
"""Batches with the model's outputs, each ``[batch, ...]``; an output may be a view that holds until the next is drawn."""


class Session(Protocol):
    """A model that is ready to run on one device."""

    def run(self, batches: Iterator[Batch]) -> Outputs:
        """Draw batches as they can be started; yield them with their outputs, in order."""
        ...


def load_session(family: str, folder: Any, device: str, precision: str | None) -> Session:
    """The session of a family's folder: OpenVINO's on the ``cpu``, torch's on ``cuda``.

    Raises InputError for another device or a precision that it does not compute in, ModelError for weights that are
    missing or do not fit.
    """
    if device not in DEVICES:
        raise InputError(f"there is no device {device!r}: choose cpu or cuda")
    session: Session = import_module(f"oreqa.models.{family}.{DEVICES[device]}").open_session(folder, precision)
    return session


def batches_by_length(lengths: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """The numbers of the inputs of each batch, longest first, in batches of at most BATCH_TOKENS tokens.

    Inputs of like length stand together, so that little is computed on padding.
    """
    room = min(BATCH_TOKENS, max(MIN_TOKENS, sum(lengths) // MIN_BATCHES))
    order = np.argsort([-length for length in lengths], kind="stable")
    begin = 0
    while begin < len(order):
        chosen = order[begin : begin + max(1, room // max(1, lengths[order[begin]]))]
        begin += len(chosen)
        yield chosen


def check_finite(numbers: NDArray[Any], path: Path) -> None:
    """Raises ModelError if the model in ``path`` has given NaN or infinite numbers: nobody could tell from its results."""
    if not np.isfinite(numbers).all():
        raise ModelError(f"{path}: the model gives NaN or infinite numbers: copy or download it again")
