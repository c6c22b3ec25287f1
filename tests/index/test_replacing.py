"""What a killed update leaves is removed by whatever writes the index next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.index.change_encoder import change_encoder, publish_fitted
from oreqa.index.current import write_lock
from oreqa.index.generations import newest_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.merging import merge_indexes
from oreqa.index.removal import remove_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings

SECRET = b"swordfish"

KILLED = """
import os, signal, sys
from oreqa.index import replacing
from oreqa.index.removal import remove_documents
remove = replacing.shutil.rmtree
def die(path, **named):
    if "search-" in str(path):
        if sys.argv[1] == "half":
            next(path.rglob("*.npy")).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    remove(path, **named)
replacing.shutil.rmtree = die
remove_documents("kb", "secret.txt")
"""


@pytest.fixture
def killed(tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Removes a secret, and is killed when it has published that."""
    monkeypatch.chdir(tmp_path)
    (library / "secret.txt").write_text("The password is swordfish.\n")
    index_files("kb", library, Settings(str(tiny)))
    (library / "secret.txt").unlink()

    def kill(where: str) -> None:
        run = subprocess.run([sys.executable, "-c", KILLED, where], check=False)
        assert run.returncode == -signal.SIGKILL
        assert generations_with_secret() == ["search-000001"]

    return kill


def generations_with_secret() -> list[str]:
    """The generations that hold the secret in some file."""
    return sorted({path.parts[1] for path in Path("kb").rglob("*") if path.is_file() and SECRET in path.read_bytes()})


def index_again(library: Path) -> None:
    index_files("kb", library)


def remove_another(library: Path) -> None:
    remove_documents("kb", "bees.txt")


def remove_nothing(library: Path) -> None:
    with pytest.raises(Exception, match="no document with this name"):
        remove_documents("kb", "secret.txt")


def merge(library: Path) -> None:
    with Index.open("kb") as index:
        settings = index.snapshot().settings
    index_documents("other", "Owls hoot.", settings)
    merge_indexes("kb", "other")


def fit(library: Path) -> None:
    publish_fitted(Path("kb"), lambda fitted: fitted)


def encode_again(library: Path) -> None:
    with Index.open("kb") as index:
        model = index.snapshot().settings.model
    change_encoder("kb", model)


@pytest.mark.parametrize("write", [index_again, remove_another, remove_nothing, merge, fit, encode_again])
def test_what_a_killed_removal_left_goes_with_the_next_write(
    killed: Callable[[str], None], library: Path, write: Callable[[Path], None]
) -> None:
    killed("whole")
    write(library)
    assert generations_with_secret() == []
    assert check_index(Path("kb")) == []


def test_a_removal_that_was_killed_in_the_middle_is_finished(killed: Callable[[str], None], library: Path) -> None:
    killed("half")
    index_files("kb", library)
    assert [path.name for path in Path("kb").glob("search-*")] == ["search-000002"]


def test_a_check_says_what_is_left(killed: Callable[[str], None], library: Path) -> None:
    killed("whole")
    result = CliRunner().invoke(app, ["check", "--index", "kb"])
    assert result.exit_code == 1
    assert result.output == (
        "kb/search-000001: oreqa remove was interrupted, and what it removed is still in this folder; delete it, or let the "
        "next command that writes the index do so\n"
    )
    index_files("kb", library)
    assert CliRunner().invoke(app, ["check", "--index", "kb"]).exit_code == 0


def test_a_check_during_a_removal_does_not_call_it_interrupted(killed: Callable[[str], None], library: Path) -> None:
    killed("whole")
    with write_lock(Path("kb")):
        assert check_index(Path("kb")) == []
    assert len(check_index(Path("kb"))) == 1


def test_generations_after_a_removal_are_kept_as_others_are(killed: Callable[[str], None], library: Path) -> None:
    killed("whole")
    for number in range(2):
        (library / "new.txt").write_text(f"Whales sing {number}.\n")
        index_files("kb", library)
    names = [path.name for path in sorted(Path("kb").glob("search-*"))]
    assert names == ["search-000002", "search-000003", "search-000004"]  # the first of these for ten seconds


def test_replaced_generations_go_although_nothing_changed(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An update that was killed when it had published its changes has left one too many."""
    index_files(tmp_path / "kb", library, Settings(str(tiny)))
    for number in range(2):
        (library / "new.txt").write_text(f"Whales sing {number}.\n")
        index_files(tmp_path / "kb", library)
    assert len(list((tmp_path / "kb").glob("search-*"))) == 3
    newest = newest_generation(tmp_path / "kb")
    for path in (tmp_path / "kb").rglob("manifest.json"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    index_files(tmp_path / "kb", library)
    assert newest_generation(tmp_path / "kb") == newest
    assert len(list((tmp_path / "kb").glob("search-*"))) == 2
