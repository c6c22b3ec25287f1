"""Progress of long work: stages with a name, a total and steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from oreqa.errors import InputError

Advance = Callable[[int], None]
"""Called with the number of steps done since its last call."""

Progress = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows one stage of the work: ``with progress(name, total) as advance``. A total of None is unknown in advance."""


def ignore(steps: int) -> None:
    """An Advance that shows nothing."""


def report_kept(advance: Advance, steps: int) -> None:
    """Report steps whose results an earlier run left: an ``advance`` with a method ``kept`` leaves them out of its rate."""
    getattr(advance, "kept", advance)(steps)


@contextmanager
def no_progress(name: str, total: int | None = None) -> Iterator[Advance]:
    """A Progress that shows nothing."""
    yield ignore


def part_of(advance: Advance) -> Progress:
    """Return a Progress whose stages are steps of a stage that is already shown."""
    return lambda name, total: nullcontext(advance)


def show(progress: Progress, name: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Begin a stage of the work: ``with show(progress, name, total) as advance``.

    Raises InputError for a ``progress`` of another kind, such as a function that takes a number.
    """
    refusal = "progress is a function of a stage's name and total that returns a context; leave it out to show nothing"
    try:
        inspect.signature(progress).bind(name, total)
    except (TypeError, ValueError):
        raise InputError(refusal) from None
    stage = progress(name, total)
    if not isinstance(stage, AbstractContextManager):
        raise InputError(refusal)
    return stage
