"""Served indexes follow their folders by child processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from served import served

from oreqa.errors import InputError
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.server import following
from oreqa.server.collections import open_collections
from oreqa.server.follower import _updating
from oreqa.server.following import Follower, watched_paths

pytest.importorskip("watchfiles", reason="the serve extra is not installed")

PATIENCE = 120.0


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_update_tells_when_it_began() -> None:
    update_times: dict[str, object] = {}
    kept: list[float] = []

    def update() -> list[str]:
        kept.append(time.time())  # a file that comes now may not be read
        return []

    assert _updating(update, update_times.update)()
    started, updated = update_times["begun"], update_times["updated"]
    assert isinstance(started, float)
    assert isinstance(updated, float)
    assert started <= kept[0] <= updated


@pytest.mark.slow
def test_a_saved_file_is_answerable_and_a_damaged_one_is_named(library: Path, tmp_path: Path, fitted: Path) -> None:
    index_files(tmp_path / "kb", library, Settings(str(fitted)))
    follower = Follower(tmp_path / "kb", [library])
    with served(
        open_collections({"kb": tmp_path / "kb"}, reader=None), followers={"kb": follower}, uploads=library
    ) as client:
        status = lambda: client.get("/v1/status").json()["collections"][0]  # noqa: E731
        wait_until(lambda: status()["watch"]["state"] == "watching" and status()["watch"]["updated"])
        assert client.post("/v1/uploads", files={"file": ("whales.txt", b"Whales sing in the bay.")}).status_code == 201
        (library / "damaged.pdf").write_text("no PDF")
        wait_until(lambda: status()["documents"] == 5)
        wait_until(lambda: status()["watch"]["failed_count"] == 1)
        assert status()["watch"]["failed"][0].startswith(str(library / "damaged.pdf"))
        hits = client.post("/v1/search", json={"question": "whales sing", "k": 1}).json()["hits"]
        assert hits[0]["sentence"]["text"] == "Whales sing in the bay."
        child = follower._child
        assert child
    wait_until(lambda: not is_running(child.pid))


def test_a_child_that_dies_is_started_again_later_and_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "FIRST_DELAY", 0.2)
    follower = Follower(tmp_path, [tmp_path], code="sys.exit(3)")
    follower.start()
    wait_until(lambda: "started again in 0.4 s" in follower.state["reason"])
    assert follower.state["state"] == "restarting"
    assert follower.state["reason"].startswith("the process that watches ended with status 3")
    follower.stop()
    assert not follower._thread.is_alive()


def test_each_collection_has_its_paths(tmp_path: Path) -> None:
    one, two = {"kb": tmp_path}, {"kb": tmp_path, "notes": tmp_path}
    assert watched_paths([str(tmp_path)], one) == {"kb": [tmp_path]}
    assert watched_paths([f"notes={tmp_path}", f"kb={tmp_path}"], two) == {"notes": [tmp_path], "kb": [tmp_path]}
    with pytest.raises(InputError, match="name the collection that it belongs to, as in --watch kb="):
        watched_paths([str(tmp_path)], two)
    with pytest.raises(InputError, match="there is no such file or folder"):
        watched_paths([str(tmp_path / "none")], one)
