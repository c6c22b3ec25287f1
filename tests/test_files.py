from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.files import resume_rows


def test_interrupted_rows_are_kept(tmp_path: Path) -> None:
    path, calls, told = tmp_path / "rows.jsonl", [], []

    def make(begin: int, end: int) -> list[dict[str, int]]:
        if begin == 4 and len(calls) < 3:
            raise KeyboardInterrupt
        calls.append((begin, end))
        return [{"n": n} for n in range(begin, end)]

    with pytest.raises(KeyboardInterrupt):
        resume_rows(path, "a", 5, 2, make, told.append)
    with path.open("a") as stream:
        stream.write('{"fingerprint": "a", "n')  # torn by the interruption
    calls.append((0, 0))
    rows = resume_rows(path, "a", 5, 2, make, told.append)
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert calls == [(0, 2), (2, 4), (0, 0), (4, 5)]
    assert told == [0, 2, 2, 4, 1]
    assert len(resume_rows(path, "b", 5, 2, make, told.append)) == 5
    assert calls[4:] == [(0, 2), (2, 4), (4, 5)]
