from __future__ import annotations

import os
from pathlib import Path

import pytest
from interruption import files_of_at_most

from oreqa.errors import InputError
from oreqa.files import append_jsonl, remove, resume_rows
from oreqa.progress import ignore


def test_interrupted_rows_are_kept(tmp_path: Path) -> None:
    path, calls, steps = tmp_path / "rows.jsonl", [], []

    def make(begin: int, end: int) -> list[dict[str, int]]:
        if begin == 4 and len(calls) < 3:
            raise KeyboardInterrupt
        calls.append((begin, end))
        return [{"n": n} for n in range(begin, end)]

    with pytest.raises(KeyboardInterrupt):
        resume_rows(path, "a", 5, 2, make, steps.append)
    with path.open("a") as stream:
        stream.write(path.read_text()[:20])  # torn by the interruption
    calls.append((0, 0))
    rows = resume_rows(path, "a", 5, 2, make, steps.append)
    assert [row["n"] for row in rows] == [0, 1, 2, 3, 4]
    assert calls == [(0, 2), (2, 4), (0, 0), (4, 5)]
    assert steps == [0, 2, 2, 4, 1]
    assert len(resume_rows(path, "b", 5, 2, make, steps.append)) == 5
    assert calls[4:] == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.parametrize("place", ["digest", "text", "break", "cut", "other bytes"])
def test_rows_from_a_damaged_one_on_are_made_again(tmp_path: Path, place: str) -> None:
    path, calls = tmp_path / "rows.jsonl", []

    def make(begin: int, end: int) -> list[dict[str, str]]:
        calls.append(begin)
        return [{"text": f"row {n}"} for n in range(begin, end)]

    rows = resume_rows(path, "a", 5, 1, make, ignore)
    whole, calls[:] = path.read_bytes(), []
    lines = whole.splitlines(keepends=True)
    third = lines[2]
    damaged = {
        "digest": third.replace(third[:1], b"x", 1),
        "text": third.replace(b"row 2", b"row 3"),
        "break": third[:-1],
        "cut": third[:20] + b"\n",
        "other bytes": b"\xff\0\n",
    }
    path.write_bytes(b"".join([*lines[:2], damaged[place], *lines[3:]]))
    assert resume_rows(path, "a", 5, 1, make, ignore) == rows
    assert calls == [2, 3, 4]
    assert path.read_bytes() == whole


def test_rows_are_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_jsonl(path, [{"n": 1}])
    with files_of_at_most(5000), pytest.raises(InputError, match=r"rows\.jsonl: it cannot be written \(File too large\)"):
        append_jsonl(path, [{"n": number} for number in range(2, 3000)])
    assert path.read_text() == '{"n": 1}\n'


def test_a_folder_whose_removal_is_interrupted_does_not_bear_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").touch()

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(os, "unlink", interrupt)
        with pytest.raises(KeyboardInterrupt):
            remove(folder)
    assert not folder.exists()
    assert (tmp_path / "folder.removed" / "file").is_file()
    folder.mkdir()
    remove(folder)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["link", "fifo", "folder"])
def test_what_another_put_in_the_place_of_unfinished_rows_is_not_written_into(tmp_path: Path, place: str) -> None:
    (tmp_path / "theirs").write_text("theirs")
    rows = tmp_path / "rows.jsonl"
    if place == "link":
        rows.symlink_to("theirs")
    elif place == "fifo":
        os.mkfifo(rows)
    else:
        rows.mkdir()
    assert resume_rows(rows, "f", 2, 1, lambda begin, end: [{"row": begin}], ignore) == [{"row": 0}, {"row": 1}]
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert rows.is_file()
    assert not rows.is_symlink()
