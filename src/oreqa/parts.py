"""Rows made by several processes or machines: each makes a part, and a last run collects them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import Timeout

from oreqa.errors import InputError
from oreqa.files import kept_rows, resume_rows
from oreqa.locks import lock_file
from oreqa.paths import partial_file

MakeRows = Callable[[int, int], Sequence[Mapping[str, Any]]]
"""Makes the rows from one number to another."""


@dataclass(frozen=True, slots=True)
class WorkPart:
    """Part ``number`` of ``count``, from 1."""

    number: int
    count: int

    def span(self, total: int, step: int) -> tuple[int, int]:
        """Return its first row and the one after its last, of ``total`` that are made ``step`` at a time.

        Examples:
            >>> [WorkPart(number, 3).span(20, 8) for number in (1, 2, 3)]
            [(0, 8), (8, 16), (16, 20)]
        """
        steps = -(-total // step)
        begin, end = (steps * number // self.count * step for number in (self.number - 1, self.number))
        return begin, min(end, total)


def as_part(value: str | WorkPart | None) -> WorkPart | None:
    """Parse a part written as ``3/8``. Raises InputError for anything else."""
    if value is None or isinstance(value, WorkPart):
        return value
    match = re.fullmatch(r"0*([1-9]\d{0,8})/0*([1-9]\d{0,8})", value, re.ASCII) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise InputError(f"the part is {value!r}; the third of eight is written 3/8")
    return WorkPart(int(match[1]), int(match[2]))


def shared_rows(
    out: Path,
    part: WorkPart | None,
    fingerprint: str,
    total: int,
    step: int,
    make: MakeRows,
    advance: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Return the rows of a part of ``out``, leaving them next to it for the run that collects them.

    The collecting run has no part: it returns all rows, and makes only the missing ones. Like with ``resume_rows``, an
    interrupted run resumes. Steps are those of a run that makes all rows. Raises InputError if another process is making
    this part or, when collecting, any of them.
    """
    if part is not None:
        begin, end = part.span(total, step)
        part_fingerprint = _fingerprint(fingerprint, begin)
        with _locked(out, part):
            return resume_rows(
                _path(out, part),
                part_fingerprint,
                end - begin,
                step,
                lambda first, last: make(begin + first, begin + last),
                advance,
            )
    made_rows: dict[int, dict[str, Any]] = {}
    for left in _parts(out):
        with _locked(out, left):
            begin, _ = left.span(total, step)
            rows, _ = kept_rows(_path(out, left), _fingerprint(fingerprint, begin))
            made_rows.update(enumerate(rows, begin))

    def take_or_make(first: int, last: int) -> Sequence[Mapping[str, Any]]:
        if all(number in made_rows for number in range(first, last)):
            return [made_rows[number] for number in range(first, last)]
        return make(first, last)

    return resume_rows(partial_file(out), fingerprint, total, step, take_or_make, advance)


def drop_unfinished(out: Path) -> None:
    """Remove what runs left next to the finished ``out``, except the rows of a part that is still running."""
    partial_file(out).unlink(missing_ok=True)
    for part in _parts(out):
        with suppress(InputError), _locked(out, part):
            for path in (_path(out, part), _lock(out, part)):
                path.unlink(missing_ok=True)


@contextmanager
def _locked(out: Path, part: WorkPart) -> Iterator[None]:
    """Hold a part's lock, if the disk supports locks. Raises InputError if another process holds it."""
    lock: AbstractContextManager[object]
    try:
        lock = lock_file(_lock(out, part))
    except Timeout:
        reason = f"another process makes its part {part.number}/{part.count}; wait until that has finished"
        raise InputError(f"{out}: {reason}") from None
    except OSError:  # the next write reports a disk that cannot be written
        lock = nullcontext()
    with lock:
        yield


def _lock(out: Path, part: WorkPart) -> Path:
    path = _path(out, part)
    return path.with_name(f"{path.name}.lock")


def _path(out: Path, part: WorkPart) -> Path:
    partial = partial_file(out)
    return partial.with_name(f"{partial.name}-{part.number}-of-{part.count}")


def _fingerprint(fingerprint: str, begin: int) -> str:
    return f"{fingerprint} from {begin}"


def _parts(out: Path) -> list[WorkPart]:
    name = re.compile(re.escape(partial_file(out).name) + r"-([1-9]\d*)-of-([1-9]\d*)(?:\.lock)?")
    names = [path.name for path in out.parent.iterdir()] if out.parent.is_dir() else []
    matches = (match for match in map(name.fullmatch, names) if match)
    return list(dict.fromkeys(WorkPart(int(match[1]), int(match[2])) for match in matches))
