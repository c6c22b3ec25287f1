"""Processes under torchrun: their numbers, turns, and shared values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import torch
from accelerate import PartialState
from torch import Tensor

T = TypeVar("T")


def process_number() -> tuple[int, int]:
    """Return the number of this process, and how many there are."""
    if not _are_several():
        return 0, 1
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def from_first_process(value: T) -> T:
    """Return the first process's ``value`` in every process."""
    if not _are_several():
        return value
    values = [value]
    torch.distributed.broadcast_object_list(values, src=0)
    return values[0]


def summed(value: Tensor) -> Tensor:
    """Return the sum of all processes' values in every process; ``value`` is modified in place."""
    if _are_several():
        torch.distributed.all_reduce(value)
    return value


@contextmanager
def in_turn() -> Iterator[None]:
    """Run the block in one process after another: later ones find the files left by the first."""
    # The others wait while the first encodes a collection, which can take longer than the default timeout.
    state = PartialState(cpu=not torch.cuda.is_available(), timeout=timedelta(days=30))
    for turn in range(state.num_processes):
        if turn == state.process_index:
            yield
        state.wait_for_everyone()


def _are_several() -> bool:
    return bool(torch.distributed.is_available() and torch.distributed.is_initialized())


def gather_padded(vectors: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor, int]:
    """Gather the rows of all processes, with gradients to each, and where this one's begin: ``[W * R, D]``, ``[W * R]``.

    ``numbers`` (``[rows]``) belong to the ``vectors``; processes with fewer than ``R`` rows are padded with number -1. A
    single process gets its own rows back.
    """
    if not _are_several():
        return vectors, numbers, 0
    from torch.distributed.nn.functional import all_gather

    most = torch.tensor(len(vectors), device=vectors.device)
    torch.distributed.all_reduce(most, torch.distributed.ReduceOp.MAX)
    blanks = int(most) - len(vectors)
    vectors = torch.nn.functional.pad(vectors, (0, 0, 0, blanks))
    numbers = torch.nn.functional.pad(numbers, (0, blanks), value=-1)
    others = [torch.empty_like(numbers) for _ in range(torch.distributed.get_world_size())]
    torch.distributed.all_gather(others, numbers)
    return torch.cat(all_gather(vectors)), torch.cat(others), torch.distributed.get_rank() * int(most)
