"""Revisions of files: what tells whether one has changed since it was read."""

from __future__ import annotations

import os
from pathlib import Path

from oreqa.corpus.readers import Fields
from oreqa.index.ingest import index_files
from oreqa.index.revisions import IN_MEMORY, file_revision, file_state, read_revision, size_and_time
from oreqa.index.search import Index
from oreqa.index.store import Settings


def test_a_file_just_written_is_read_once_more_but_its_size_and_time_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Bees")
    os.utime(file, ns=(10**18, 10**18))
    revision = file_revision(file, Fields("a b"))
    assert read_revision(revision, 10**18 + 3 * 10**9) == revision
    assert read_revision(revision, 10**18 + 10**9) != revision
    assert size_and_time(read_revision(revision, 10**18)) == size_and_time(revision) == (4, 10**18)


def test_an_index_keeps_them(tmp_path: Path, tiny: Path) -> None:
    file, kb = tmp_path / "a.txt", tmp_path / "kb"
    file.write_text("Bees hum.")
    index_files(kb, file, Settings(model=str(tiny), passage_tokens=40))
    ((revision,),) = Index.open(kb).snapshot().documents.execute("SELECT revision FROM sources")
    assert size_and_time(revision) == (9, file.stat().st_mtime_ns)
    assert revision != file_revision(file, Fields())


def test_a_file_is_compared_without_opening_it(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Bees dance.")
    revision = file_revision(file, Fields())
    assert file_state(str(file), revision) == file_state(str(file), f"{revision} again") == "same"
    assert file_state(str(file), None) == file_state(str(file), IN_MEMORY) == "none"
    file.write_text("Bees sing, too.")
    assert file_state(str(file), revision) == "changed"
    file.unlink()
    assert file_state(str(file), revision) == file_state(f"{tmp_path / 'none'}/a", revision) == "gone"
    assert file_state(str(tmp_path / ("a" * 300)), revision) == "none"  # the system refuses to look
