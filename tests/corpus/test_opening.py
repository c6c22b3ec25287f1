from __future__ import annotations

import os
from pathlib import Path

import pytest

from oreqa.corpus.opening import open_file, open_unchanged
from oreqa.errors import DocumentError


def test_a_file_is_opened_as_long_as_it_has_its_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("three")
    time = path.stat().st_mtime_ns
    file = open_unchanged(path, 5, time)
    assert file
    with file:
        assert file.read() == b"three"
    assert open_unchanged(path, 4, time) is None
    assert open_unchanged(path, 5, time + 1) is None
    path.unlink()
    with pytest.raises(FileNotFoundError):
        open_unchanged(path, 5, time)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_or_a_folder_in_its_place_is_another_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        status = path.stat()
        assert open_unchanged(path, status.st_size, status.st_mtime_ns) is None
        with pytest.raises(DocumentError, match="not a regular file"):
            open_file(path)
