"""What processes under torchrun share."""

from __future__ import annotations

import torch
from torch import Tensor


def gather_padded(vectors: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor, int]:
    """The rows of all processes, with gradients to each, and where this one's begin: ``[W * R, D]``, ``[W * R]``.

    ``numbers`` (``[rows]``) go with the ``vectors``; processes that have fewer than ``R`` rows get blanks of number -1. One
    process alone gets its own rows back.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
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
