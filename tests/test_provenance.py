from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from oreqa.provenance import code_of_result, commit, data_hash, fingerprint


@pytest.mark.parametrize(("value", "digits"), [
    ([], "4f53cda18c2baa0c"), ([["who", 1.5], None], "663a16bd9ef441d3"), ({"b": 1, "a": 2}, "6f21dfd78e16c056"),
    ("Zürich", "dfcb63f95eb8747e"),
])  # fmt: skip
def test_a_fingerprint_is_the_same_in_every_version(value: object, digits: str) -> None:
    assert fingerprint(value) == digits


def test_the_order_of_keys_counts() -> None:
    assert fingerprint({"a": 2, "b": 1}) != fingerprint({"b": 1, "a": 2})


def test_data_hash_follows_content(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    first = data_hash([tmp_path / "x"])
    assert first == data_hash([tmp_path])
    (tmp_path / "x").write_text("2")
    assert first != data_hash([tmp_path / "x"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one committed file, src/code.py."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "code.py").write_text("1")
    for command in ("init -q", "add src", "-c user.name=A -c user.email=a@b.c commit -q -m First"):
        subprocess.run(["git", "-C", tmp_path, *command.split()], check=True)
    return tmp_path


def test_code_is_named_by_its_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    assert commit(checkout / "src") == head.stdout.strip()
    (checkout / "notes.txt").write_text("changes elsewhere do not count")
    monkeypatch.chdir(checkout)
    assert commit(Path("src")) == head.stdout.strip()
    (checkout / "src" / "code.py").write_text("2")
    assert commit(checkout / "src") == head.stdout.strip() + "-dirty"


def test_code_that_no_checkout_tracks_has_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = checkout / "environment" / "oreqa"
    environment.mkdir(parents=True)
    (environment / "code.py").write_text("an installed package inside somebody's checkout")
    assert commit(environment) is None
    monkeypatch.setattr("oreqa.provenance.commit", lambda *folders: None)
    assert set(code_of_result()) == {"versions"}
    monkeypatch.setattr("oreqa.provenance.commit", lambda *folders: "1f2e3d4")
    assert code_of_result()["commit"] == "1f2e3d4"
    monkeypatch.undo()
    monkeypatch.setenv("PATH", str(checkout))
    assert commit(checkout / "src") is None, "without git"
