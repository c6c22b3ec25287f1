from __future__ import annotations

import json
import shutil
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app, doctor
from oreqa.models import listing
from oreqa.models.names import find_model


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["doctor", *map(str, arguments)])


def checks(*arguments: object) -> dict[tuple[str, str], dict[str, Any]]:
    printed = json.loads(run("--json", *arguments).stdout)
    assert printed["healthy"] is all(check["state"] != "problem" for check in printed["checks"])
    return {(check["group"], check["name"]): check for check in printed["checks"]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without an index, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OREQA_INDEX", raising=False)
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))


def test_an_intact_installation_is_healthy() -> None:
    result, looked_at = run(), checks()
    assert result.exit_code == 0
    assert "minilm-reader" in result.stdout
    assert "no index was checked: there is no .oreqa here; name one with --index" in result.stdout
    assert looked_at["models", "minilm-retriever"]["state"] == "ok"
    assert looked_at["cache", "folder"]["state"] == "ok"
    assert "openvino" in looked_at["program", "versions"]["detail"]


def test_what_is_wrong_is_named_with_its_mend_and_ends_with_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setenv("OREQA_PRECISION", "f16")
    looked_at, result = checks(), run()
    assert looked_at["cache", "folder"]["mend"] == "set OREQA_CACHE to a folder that you can write"
    assert looked_at["program", "precision"]["mend"] == "unset OREQA_PRECISION"
    assert (result.exit_code, result.stderr) == (1, "2 problems: program precision, cache folder\n")


def test_packages_that_are_missing_or_too_old_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    needs = ["numpy>=99", "nothing-of-this-name", "lxml>=5", "fastapi>=99; extra == 'serve'", "rapidocr>=3; extra == 'dev'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needs)
    looked_at = checks()
    numpy = metadata.version("numpy")
    assert looked_at["parts", "oreqa"]["detail"] == f"numpy >=99: {numpy} is installed, nothing-of-this-name"
    assert looked_at["parts", "serve"] == {
        "group": "parts", "name": "serve", "state": "absent", "detail": "the page, the HTTP API, MCP, and --watch",
        "mend": f"{sys.executable} -m pip install 'oreqa[serve]'",
    }  # fmt: skip
    assert ("parts", "dev") not in looked_at
    line = f"to install a part, such as serve: {sys.executable} -m pip install 'oreqa[serve]'"
    assert line in run().stdout.splitlines()
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert checks()["parts", "serve"]["mend"] == "python -m pip install 'oreqa[serve]'"


def test_every_extra_for_users_is_described() -> None:
    extras = {extra for extra in metadata.metadata("oreqa").get_all("Provides-Extra") or () if extra != "dev"}
    assert extras <= doctor._PURPOSES.keys()


def test_a_damaged_model_is_a_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = shutil.copytree(find_model("minilm-reader"), tmp_path / "reader")
    (broken / "config.json").write_text("{")
    monkeypatch.setattr(listing, "_places", lambda: iter([("minilm-reader", "pack", broken)]))
    reader = checks()["models", "minilm-reader"]
    assert reader["state"] == "problem"
    assert "config.json" in reader["detail"]


def test_an_index_is_checked(tmp_path: Path) -> None:
    (tmp_path / "tower.md").write_text("# Tower\n\nThe tower is 24 m tall.\n")
    assert CliRunner().invoke(app, ["index", "tower.md"]).exit_code == 0
    looked_at = checks()
    assert looked_at["index", "folder"]["detail"] == ".oreqa: 1 document, 1 passage, 1 sentence"
    assert looked_at["index", "calibration"]["detail"] == "answers have a probability"
    (words,) = Path(".oreqa").rglob("documents.db")
    content = bytearray(words.read_bytes())
    content[len(content) // 2] ^= 1
    words.write_bytes(content)
    damaged = run("--index", ".oreqa", "--json")
    assert (damaged.exit_code, json.loads(damaged.stdout)["healthy"]) == (1, False)


def test_an_index_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    folder = checks("--index", tmp_path / "kb")["index", "folder"]
    assert folder["state"] == "problem"
    assert "there is no index here" in folder["detail"]
