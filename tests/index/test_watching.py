"""An index follows its folders: one update for a burst of changes, when files stand still."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("watchfiles", reason="the serve extra is not installed")

from oreqa.index import watching
from oreqa.index.watching import Watch

PATIENCE = 30.0


class Updates:
    """Counts updates; ``fails`` of them fail first."""

    def __init__(self, fails: int = 0) -> None:
        self.count, self.modes, self._fails = 0, [], fails  # type: ignore[var-annotated]

    def __call__(self) -> bool:
        self.count += 1
        return self.count > self._fails

    def wait(self, count: int) -> None:
        wait_until(lambda: self.count >= count)


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def watched(paths: list[Path], updates: Updates, **options: Any) -> Iterator[Watch]:
    """A watch in a thread, which has made its first update."""
    stop = threading.Event()
    watch = Watch(paths[0].parent / "kb", paths, on_mode=updates.modes.append, **options)
    thread = threading.Thread(target=watch.run, args=(updates, stop), daemon=True)
    thread.start()
    try:
        updates.wait(1)
        yield watch
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("A text.")
    return tmp_path / "docs"


@pytest.mark.parametrize("polls", [False, True])
def test_a_burst_of_changes_is_one_update(folder: Path, monkeypatch: pytest.MonkeyPatch, polls: bool) -> None:
    if polls:
        monkeypatch.setattr("watchfiles.watch", refusing(OSError("OS file watch limit reached. about [...]")))
        monkeypatch.setattr(watching, "POLL", 0.1)
    updates = Updates()
    with watched([folder], updates):
        for number in range(50):
            (folder / f"{number}.txt").write_text(f"Text {number}.")
        updates.wait(2)
        time.sleep(1.0)
        assert updates.count == 2
        (folder / "new").mkdir()
        (folder / "new" / "b.md").write_text("Another text.")
        updates.wait(3)
        (folder / "a.txt").unlink()
        updates.wait(4)
    assert [bool(reason) for reason in updates.modes] == [polls]


def refusing(error: Exception) -> Callable[..., Iterator[Any]]:
    def watch(*_: object, **__: object) -> Iterator[Any]:
        raise error
        yield

    return watch


@pytest.mark.parametrize(("error", "reason"), [
    (OSError("OS file watch limit reached. about [...]"), "raise fs.inotify.max_user_watches"),
    (RuntimeError("Error creating recommended watcher: Too many open files (os error 24)"), "raise fs.inotify.max_user_instances"),
    (RuntimeError("a strange disk"), "the system cannot watch them (a strange disk)"),
])  # fmt: skip
def test_where_the_system_tells_nothing_it_looks_again_and_again_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    monkeypatch.setattr("watchfiles.watch", refusing(error))
    updates = Updates()
    with watched([folder], updates):
        assert len(updates.modes) == 1
        assert reason in updates.modes[0]


def test_what_is_being_written_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    updates = Updates()
    with watched([folder], updates), (folder / "big.txt").open("w") as file:
        for _ in range(15):
            file.write("A line.\n")
            file.flush()
            time.sleep(0.1)
        assert updates.count == 1
        updates.wait(2)
    monkeypatch.setattr(watching, "LONGEST_WAIT", 1.0)
    updates = Updates()
    with watched([folder], updates), (folder / "log.txt").open("w") as file:
        started = time.monotonic()
        while updates.count < 2:  # it never stands still
            assert time.monotonic() < started + PATIENCE
            file.write("A line.\n")
            file.flush()
            time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="this system has other permissions")
def test_a_file_whose_permission_is_fixed_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.txt").chmod(0)
    monkeypatch.setattr("watchfiles.watch", refusing(OSError("OS file watch limit reached. about [...]")))
    monkeypatch.setattr(watching, "POLL", 0.1)
    updates = Updates()
    with watched([folder], updates):
        (folder / "a.txt").chmod(0o644)
        updates.wait(2)


def test_an_update_that_fails_is_tried_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "RETRY", 0.2)
    updates = Updates(fails=2)
    with watched([folder], updates):
        updates.wait(3)
        time.sleep(0.5)
        assert updates.count == 3


def test_the_index_itself_and_hidden_files_are_not_watched(tmp_path: Path) -> None:
    watch = Watch(tmp_path / ".root" / "kb", [tmp_path / ".root"])
    for path, matters in (("a.txt", True), ("kb/draft/x", False), ("kb", False), (".git/x", False), (".oreqaignore", True)):
        assert watch._matters(None, str(tmp_path / ".root" / path)) is matters, path


def test_a_folder_that_is_replaced_and_a_file_that_was_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL", 0.1)
    named = folder.parent / "named.txt"
    named.write_text("A text.")
    updates = Updates()
    with watched([folder, named], updates):
        os.replace(shutil.copy(folder / "a.txt", folder.parent / "other"), named)  # noqa: PTH105
        updates.wait(2)
        shutil.rmtree(folder)
        wait_until(lambda: updates.modes[-1])  # it is gone, and looked for
        assert updates.modes[-1].endswith(" is not there")
        count = updates.count
        folder.mkdir()
        (folder / "b.txt").write_text("Another text.")
        updates.wait(count + 1)
        wait_until(lambda: updates.modes[-1] == "")


def test_names_of_another_ending_are_no_update(folder: Path) -> None:
    updates = Updates()
    with watched([folder], updates):
        (folder / "a.unknown").write_text("x")
        (folder / ".hidden.txt").write_text("x")
        time.sleep(1.0)
        assert updates.count == 1


LIMITED = """
import sys, threading
from pathlib import Path
from oreqa.index.watching import Watch

def told(reason):
    print(reason, flush=True)
    stop.set()

stop = threading.Event()
Watch(Path("kb"), [Path(sys.argv[1])], on_mode=told).run(lambda: True, stop)
"""


@pytest.mark.system
@pytest.mark.parametrize(("limit", "number"), [("watches", 3), ("instances", 0)])
def test_the_limits_of_the_system(folder: Path, limit: str, number: int) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode:
        pytest.skip("this system lets nobody make a user namespace")
    for name in range(10):
        (folder / str(name)).mkdir()
    inside = f'echo {number} > /proc/sys/user/max_inotify_{limit} && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", inside, "sh", sys.executable, "-c", LIMITED, str(folder)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert shown.stdout == f"the system can watch no more files: raise fs.inotify.max_user_{limit} with sysctl\n", (
        shown.stderr
    )


@pytest.mark.slow
def test_saved_files_are_indexed_in_one_generation(tmp_path: Path, fitted: Path, library: Path) -> None:
    from oreqa.index.generations import generation_number, newest_generation
    from oreqa.index.ingest import index_files
    from oreqa.index.search import Index

    kb = tmp_path / "kb"
    index_files(kb, library, model=fitted)
    newest = lambda: generation_number(newest_generation(kb) or kb)  # noqa: E731
    stop = threading.Event()

    began = threading.Event()

    def update() -> bool:
        index_files(kb, library)
        began.set()
        return True

    thread = threading.Thread(target=Watch(kb, [library]).run, args=(update, stop), daemon=True)
    thread.start()
    assert began.wait(PATIENCE)
    before = newest()
    burst = tmp_path / "burst"
    burst.mkdir()
    for number in range(50):
        (burst / f"new{number}.txt").write_text(f"Whale number {number} sings.")
    burst.rename(library / "burst")  # at once, however busy the machine is
    with Index.open(kb) as index:
        wait_until(lambda: index.snapshot().count_documents() == 54)
        time.sleep(1)
        assert newest() == before + 1
        assert index.search("whale sings", 1)[0].passage.text.startswith("Whale")
    stop.set()
    thread.join(PATIENCE)
