"""How long work tells of its progress, and how it stays silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int], None]
"""Called with the number of steps done since its last call."""

Progress = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows one stage of the work: ``with progress(name, total) as advance``. A total of None is not known beforehand."""


def ignore(steps: int) -> None:
    """An Advance that shows nothing."""


@contextmanager
def no_progress(name: str, total: int | None = None) -> Iterator[Advance]:
    """A Progress that shows nothing."""
    yield ignore
