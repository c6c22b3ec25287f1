"""Rows that parts have made are those of a single run, whichever parts there are and wherever they were killed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from oreqa.errors import InputError
from oreqa.locks import lock_file
from oreqa.parts import WorkPart, as_part, drop_unfinished, shared_rows
from oreqa.progress import ignore

TOTAL, STEP = 23, 4


class Maker:
    """Makes rows, and notes which."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def __call__(self, first: int, last: int) -> Sequence[dict[str, Any]]:
        assert first % STEP == 0
        assert last == min(first + STEP, TOTAL), "steps are those of a single run"
        self.made += range(first, last)
        return [{"row": number} for number in range(first, last)]


@pytest.mark.parametrize("seed", range(10))
def test_what_parts_have_made_is_not_made_again(tmp_path: Path, seed: int) -> None:
    rng, out = random.Random(seed), tmp_path / "rows.jsonl"
    count = rng.randrange(1, 9)
    complete = set()
    for number in rng.sample(range(1, count + 1), rng.randrange(count + 1)):
        part = WorkPart(number, count)
        begin, end = part.span(TOTAL, STEP)
        assert shared_rows(out, part, "f", TOTAL, STEP, Maker(), ignore) == [{"row": row} for row in range(begin, end)]
        path = tmp_path / f".rows.jsonl.partial-{number}-of-{count}"
        kept = end - begin
        if path.is_file() and rng.random() < 0.5:  # it was killed
            content = path.read_bytes()[: rng.randrange(path.stat().st_size)]
            path.write_bytes(content)
            kept = content.count(b"\n")
        complete |= set(range(begin, begin + kept))
    maker = Maker()
    assert shared_rows(out, None, "f", TOTAL, STEP, maker, ignore) == [{"row": row} for row in range(TOTAL)]
    steps = [range(first, min(first + STEP, TOTAL)) for first in range(0, TOTAL, STEP)]
    assert maker.made == [row for step in steps if not complete.issuperset(step) for row in step]
    drop_unfinished(out)
    assert not list(tmp_path.iterdir())


def test_rows_of_another_run_or_another_place_are_made_again(tmp_path: Path) -> None:
    out, maker = tmp_path / "rows.jsonl", Maker()
    shared_rows(out, WorkPart(1, 2), "other", TOTAL, STEP, Maker(), ignore)
    shared_rows(out, WorkPart(2, 2), "f", TOTAL, STEP, Maker(), ignore)
    (tmp_path / ".rows.jsonl.partial-2-of-2").rename(tmp_path / ".rows.jsonl.partial-2-of-3")
    shared_rows(out, None, "f", TOTAL, STEP, maker, ignore)
    assert maker.made == list(range(TOTAL))


def test_parts_that_another_process_makes_are_neither_gathered_nor_dropped(tmp_path: Path) -> None:
    out, part = tmp_path / "rows.jsonl", WorkPart(2, 2)
    shared_rows(out, part, "f", TOTAL, STEP, Maker(), ignore)
    kept = tmp_path / ".rows.jsonl.partial-2-of-2"
    with lock_file(kept.with_name(f"{kept.name}.lock")):
        for same in (part, None):
            with pytest.raises(InputError, match=r"rows.jsonl: another process makes its part 2/2; wait until"):
                shared_rows(out, same, "f", TOTAL, STEP, Maker(), ignore)
        drop_unfinished(out)
        assert kept.is_file()
    drop_unfinished(out)
    assert not list(tmp_path.iterdir())


def test_parts_share_all_steps() -> None:
    for count in range(1, 30):
        spans = [WorkPart(number, count).span(TOTAL, STEP) for number in range(1, count + 1)]
        assert [row for span in spans for row in range(*span)] == list(range(TOTAL))
    assert as_part("02/8") == WorkPart(2, 8)
    assert as_part(None) is None
