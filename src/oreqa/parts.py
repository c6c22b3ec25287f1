"""Rows that several processes or machines make: each makes a part of them, and a last run gathers what all have made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.files import kept_rows, resume_rows
from oreqa.paths import partial_file

MakeRows = Callable[[int, int], Sequence[Mapping[str, Any]]]
"""Makes the rows from one number to another."""


@dataclass(frozen=True, slots=True)
class WorkPart:
    """Part ``number`` of ``count``, from 1."""

    number: int
    count: int

    def span(self, total: int, step: int) -> tuple[int, int]:
        """Its first row, and the one behind its last, of ``total`` that are made ``step`` at a time.

        Examples:
            >>> [WorkPart(number, 3).span(20, 8) for number in (1, 2, 3)]
            [(0, 8), (8, 16), (16, 20)]
        """
        steps = -(-total // step)
        begin, end = (steps * number // self.count * step for number in (self.number - 1, self.number))
        return begin, min(end, total)


def as_part(value: str | WorkPart | None) -> WorkPart | None:
    """A part that is written as ``3/8``. Raises InputError for anything else."""
    if value is None or isinstance(value, WorkPart):
        return value
    match = re.fullmatch(r"0*([1-9]\d{0,8})/0*([1-9]\d{0,8})", value, re.ASCII) if isinstance(value, str) else None
    if match is None or int(match[1]) > int(match[2]):
        raise InputError(f"the part is {value!r}; the third of eight is written 3/8")
    return WorkPart(int(match[1]), int(match[2]))


def part_rows(
    out: Path,
    part: WorkPart,
    fingerprint: str,
    total: int,
    step: int,
    make: MakeRows,
    advance: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Return the rows of a part of those that ``out`` is made of, and leave them beside it for ``gathered_rows``.

    As for ``resume_rows``, an interrupted run resumes. The steps are those of a run that makes all rows.
    """
    begin, end = part.span(total, step)
    of_part = _fingerprint(fingerprint, begin)
    return resume_rows(
        _path(out, part), of_part, end - begin, step, lambda first, last: make(begin + first, begin + last), advance
    )


def gathered_rows(
    out: Path,
    fingerprint: str,
    total: int,
    step: int,
    make: MakeRows,
    advance: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Return all rows that ``out`` is made of: as ``resume_rows``, but those that parts have left are not made again."""
    held: dict[int, dict[str, Any]] = {}
    for part in _parts(out):
        begin, _ = part.span(total, step)
        rows, _ = kept_rows(_path(out, part), _fingerprint(fingerprint, begin))
        held.update(enumerate(rows, begin))

    def take_or_make(first: int, last: int) -> Sequence[Mapping[str, Any]]:
        if all(number in held for number in range(first, last)):
            return [held[number] for number in range(first, last)]
        return make(first, last)

    return resume_rows(partial_file(out), fingerprint, total, step, take_or_make, advance)


def drop_unfinished(out: Path) -> None:
    """Remove what runs have left beside ``out``, which is written."""
    for path in (partial_file(out), *(_path(out, part) for part in _parts(out))):
        path.unlink(missing_ok=True)


def _path(out: Path, part: WorkPart) -> Path:
    partial = partial_file(out)
    return partial.with_name(f"{partial.name}-{part.number}-of-{part.count}")


def _fingerprint(fingerprint: str, begin: int) -> str:
    return f"{fingerprint} from {begin}"


def _parts(out: Path) -> list[WorkPart]:
    name = re.compile(re.escape(partial_file(out).name) + r"-([1-9]\d*)-of-([1-9]\d*)")
    names = [path.name for path in out.parent.iterdir()] if out.parent.is_dir() else []
    return [WorkPart(int(match[1]), int(match[2])) for match in map(name.fullmatch, names) if match]
