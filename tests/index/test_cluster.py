"""An index by tasks of Ray: the same as by one process, also after a worker or the driver was killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from index_content import assert_same
from ray_workers import workers

from oreqa.errors import IndexStateError, InputError
from oreqa.index import cluster
from oreqa.index.cluster import index_on_cluster, split_evenly
from oreqa.index.generations import newest_generation
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings

HAS_RAY = importlib.util.find_spec("ray") is not None
with_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed")

DRIVER = """
import sys
from oreqa.index.cluster import index_on_cluster
from oreqa.index.store import Settings
index_on_cluster("kb", "docs", "local", Settings(sys.argv[1]), shards=6)
"""


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some 600 small files, and one that cannot be read, in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OREQA_CONNECTIONS", raising=False)  # processes of Ray ask whether they run in a cloud
    for number in range(600):
        file = tmp_path / "docs" / f"{number % 7}" / f"{number:03}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n\n".join(f"Fox {number} eats bone {n}. It sleeps in house {n}." for n in range(1 + number % 4)))
    (tmp_path / "docs" / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    for file in (tmp_path / "docs").rglob("*.*"):
        os.utime(file, (1_700_000_000, 1_700_000_000))
    return tmp_path / "docs"


def check(docs: Path, tiny: Path) -> None:
    """The index is the one that a single process makes, and nothing else is left."""
    index_files("clean", docs, Settings(str(tiny)), on_problem=lambda line: None)
    assert_same(Path("kb"), Path("clean"))
    with Index.open("kb") as index, Index.open("clean") as clean:
        assert list(index.documents()) == list(clean.documents())
        assert index.snapshot().content == clean.snapshot().content
    assert not Path("kb.shards").exists()
    assert index_files("kb", docs, on_problem=lambda line: None).unchanged == 600


@pytest.mark.system
@with_ray
def test_it_is_the_index_that_one_process_makes(docs: Path, tiny: Path) -> None:
    report = index_on_cluster("kb", "docs", settings=Settings(str(tiny)), shards=5)
    assert report is not None
    assert report.documents == 600
    check(docs, tiny)


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes through /proc")
@with_ray
def test_a_killed_worker_is_replaced(docs: Path, tiny: Path) -> None:
    killed: list[int] = []

    def kill_one() -> None:
        started = time.monotonic()
        while not killed and time.monotonic() - started < 120:
            for process in workers()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    index_on_cluster("kb", "docs", settings=Settings(str(tiny)), shards=6)
    killer.join()
    assert killed
    check(docs, tiny)


@pytest.mark.system
@with_ray
def test_a_killed_driver_can_be_run_again(docs: Path, tiny: Path) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tiny)])
    started = time.monotonic()
    while not list(Path().glob("kb.shards/*/search-000001/manifest.json")) and time.monotonic() - started < 120:
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    time.sleep(1)  # its workers end with it
    finished = {path: path.stat().st_mtime_ns for path in Path().glob("kb.shards/*/search-000001/manifest.json")}
    assert finished
    assert newest_generation(Path("kb")) is None
    seen = {}
    merge = cluster.merge_indexes

    def note(*arguments: object, **named: object) -> object:
        seen.update({path: path.stat().st_mtime_ns for path in finished})
        return merge(*arguments, **named)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cluster, "merge_indexes", note)
        index_on_cluster("kb", "docs", settings=Settings(str(tiny)), shards=6)
    assert seen == finished
    check(docs, tiny)


@pytest.mark.system
@with_ray
def test_what_goes_wrong_is_a_line(docs: Path, tiny: Path) -> None:
    with pytest.raises(InputError, match=r"^--cluster 127.0.0.1:1: Ray cannot be reached there \(.*\)$"):
        index_on_cluster("kb", "docs", "127.0.0.1:1")


def test_without_ray_the_line_says_what_to_install(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"^--cluster needs Ray, which is not installed: pip install 'oreqa\[cluster\]'$"):
        index_on_cluster("kb", "docs")
    assert not Path("kb").exists()


def test_a_ray_that_does_not_start_is_a_line(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise Exception("The current node timed out during startup.\nMore.")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init))
    line = r"^--cluster local: Ray cannot be started on this machine \(The current node timed out during startup.\)$"
    with pytest.raises(InputError, match=line):
        index_on_cluster("kb", "docs")


def test_shards_of_another_run_are_not_taken(docs: Path) -> None:
    parts = cluster._parts(Path("kb.shards"), [docs], ((), ()), 3)
    (docs / "new.txt").write_text("New.")
    assert cluster._parts(Path("kb.shards"), [docs], ((), ()), 5) == parts
    with pytest.raises(
        IndexStateError, match=r"^kb.shards: it holds the shards of an interrupted run over other files; del"
    ):
        cluster._parts(Path("kb.shards"), [docs / "0"], ((), ()), 3)


def test_an_index_that_exists_stays_and_what_a_kill_has_left_goes(docs: Path, tiny: Path) -> None:
    index_files("kb", docs / "0", Settings(str(tiny)))
    Path("kb.shards").mkdir()
    assert index_on_cluster("kb", docs) is None
    assert newest_generation(Path("kb")) == Path("kb/search-000001")
    assert not Path("kb.shards").exists()


def test_files_are_split_in_their_order_into_parts_of_about_as_many_bytes() -> None:
    files = [Path(str(number)) for number in range(200)]
    sizes = [number * 97 % 1000 for number in range(200)]
    parts = split_evenly(files, sizes, 7)
    assert [file for part in parts for file in part] == files
    assert len(parts) == 7
    totals = [sum(sizes[int(str(file))] for file in part) for part in parts]
    assert max(totals) - min(totals) < 2100
    assert split_evenly(files[:3], [0, 0, 0], 10) == [[file] for file in files[:3]]
    assert split_evenly([], [], 4) == []
