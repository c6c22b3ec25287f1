from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hub_server import Hub
from huggingface_hub import constants
from typer.testing import CliRunner, Result

import oreqa
from oreqa.cli import app
from oreqa.index.search import Index

NAME, READER = "org/tiny-bert", "org/tiny-reader"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_get_says_what_came_and_whether_it_can_be_loaded(hub: Hub, tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    (tiny_reader / "README.md").write_text("---\nlanguage: en\nlicense: mit\n---\n# Tiny\n")
    reader, encoder = hub.add(READER, tiny_reader), hub.add(NAME, tiny)
    got = run("models", "get", READER)
    folder = tmp_path / "hub" / "models--org--tiny-reader" / "snapshots" / reader
    assert got.stdout == f"{READER}@{reader}: bert reader, 0.1 MB, licence mit: {folder}\n"
    described = json.loads(run("models", "get", NAME, "--json").stdout)
    assert (described["name"], described["kind"], described["problem"]) == (f"{NAME}@{encoder}", "encoder", "")
    listed = {model["name"]: model for model in json.loads(run("models", "--json").stdout)}
    assert (listed[READER]["kind"], listed[READER]["architecture"], listed[READER]["licence"]) == ("reader", "bert", "mit")
    assert listed["minilm-reader"]["fitted_with"] == "minilm-retriever"
    assert f"{NAME}: {described['path']}" in run("models").stdout
    assert "Tiny" in run("models", READER).stdout
    assert json.loads(run("models", READER, "--json").stdout)["card"].endswith("# Tiny\n")
    missing = run("models", "get", "nothing")
    assert missing.exit_code == 2
    assert missing.stderr == "error: 'nothing' is no name of the Hub, which is owner/name or owner/name@revision\n"
    assert run("models", "--json", READER).stderr == "error: write --json after the name\n"


def test_get_says_what_cannot_be_loaded(hub: Hub, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "odd").mkdir()
    for file in tiny.rglob("*.json"):
        (tmp_path / "odd" / file.relative_to(tiny)).parent.mkdir(exist_ok=True)
        (tmp_path / "odd" / file.relative_to(tiny)).write_bytes(file.read_bytes())
    (tmp_path / "odd" / "model.safetensors").write_bytes((tiny / "model.safetensors").read_bytes())
    (tmp_path / "odd" / "modules.json").write_text('[{"type": "x.Odd", "path": ""}]')
    hub.add("org/odd", tmp_path / "odd")
    got = run("models", "get", "org/odd")
    assert got.exit_code == 0
    assert "  it cannot be loaded: " in got.stdout
    listed = {model["name"]: model["problem"] for model in json.loads(run("models", "--json").stdout)}
    assert "x.Odd is not supported" in listed["org/odd"]
    lines = run("models").stdout.splitlines()
    assert any(line.startswith("org/odd ") and "encoder, cannot be loaded" in line for line in lines)
    assert any(
        line.startswith("org/odd: ") and line.endswith(f" (it cannot be loaded: {listed['org/odd']})") for line in lines
    )


def test_an_index_keeps_the_commit_of_its_model(
    hub: Hub, tiny: Path, tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.add(NAME, tiny)
    made = run("index", library, "--index", "kb", "--model", NAME)
    assert made.exit_code == 0, made.stderr
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with Index.open("kb") as index:
        assert index.snapshot().settings.model == f"{NAME}@{commit}"
        assert index.encoder.folder.path.name == commit
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in tiny.rglob("*.*"):
        (changed / file.relative_to(tiny)).parent.mkdir(exist_ok=True)
        (changed / file.relative_to(tiny)).write_bytes(file.read_bytes())
    settings = json.loads((tiny / "config.json").read_text())
    (changed / "config.json").write_text(json.dumps({**settings, "hidden_act": "relu"}))
    hub.add(NAME, changed)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    assert run("models", "get", NAME).exit_code == 0
    (library / "new.md").write_text("Owls hunt at night.")
    for name in (NAME, f"{NAME}@{commit}"):
        again = run("index", library, "--index", "kb", "--model", name)
        assert (again.exit_code, again.stderr) == (0, "")
    with Index.open("kb") as index:
        assert index.snapshot().settings.model == f"{NAME}@{commit}"
        assert len(index.search("owls", k=1)) == 1
    other = run("index", library, "--index", "kb", "--model", f"{NAME}@main")
    assert other.exit_code == 2
    assert f"it was built with --model {NAME}@{commit}, not {NAME}@main" in other.stderr


@pytest.mark.system
def test_index_online_ask_offline(hub: Hub, tiny: Path, tiny_reader: Path, tmp_path: Path, library: Path) -> None:
    """Processes of their own, with nothing but the library's variables in the environment."""
    hub.add(NAME, tiny)
    hub.add(READER, tiny_reader)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    places = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "home"), "no_proxy": "127.0.0.1"}
    environment = {**kept, **places, "PYTHONPATH": str(Path(oreqa.__file__).parent.parent)}

    def oreqa_process(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "oreqa", *arguments]
        return subprocess.run(command, env={**environment, **more}, capture_output=True, text=True, check=False)

    made = oreqa_process("index", str(library), "--index", "kb", "--model", NAME)
    assert (made.returncode, made.stderr) == (0, "")
    question = ("ask", "How many hearts?", "--index", "kb", "--json")
    early = oreqa_process(*question, "--reader", READER, HF_HUB_OFFLINE="1")
    assert early.returncode == 2
    assert (
        f"there is no folder or model {READER} here, and HF_HUB_OFFLINE forbids to download it: with a network, run oreqa "
        f"models get {READER}; here are all-minilm" in early.stderr
    )
    assert f", {NAME}\n" in early.stderr
    assert oreqa_process(*question, "--reader", READER).returncode == 0
    answered = oreqa_process(*question, "--reader", READER, HF_HUB_OFFLINE="1")
    assert (answered.returncode, answered.stderr) == (0, "")
    assert (tmp_path / "home" / "hub" / "models--org--tiny-bert").is_dir()


def test_the_default_models_need_no_hub(tmp_path: Path, library: Path) -> None:
    program = (
        "import sys; from oreqa import Answerer, index_files; index_files('kb', 'library'); Answerer.load('kb').ask('hearts?');"
        "print([name for name in sys.modules if name.split('.')[0] in ('huggingface_hub', 'httpx2', 'onnx')])"
    )
    source = str(Path(oreqa.__file__).parent.parent)
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True)
    assert found.stdout == "[]\n", found.stderr


def test_a_model_is_shown_with_or_without_a_card(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    (folder / "README.md").unlink(missing_ok=True)
    shown = run("models", folder).stdout
    assert shown.startswith(f"{folder}: bert encoder, ")
    assert "\n  32 dimensions, no prompts\n" in shown
    assert "has no card" in " ".join(shown.split())
    (folder / "README.md").write_text("---\nlicense: mit\ntags:\n- bees\n---\n\n# Bees\n\nIt dances.\n---\n")
    shown = run("models", folder).stdout
    assert "licence mit" in shown
    assert "It dances." in shown
    assert "tags" not in shown
    described = json.loads(run("models", "show", folder, "--json").stdout)
    assert (described["kind"], described["architecture"], described["problem"]) == ("encoder", "bert", "")
    assert "license: mit" in described["card"]
    prompts = {"prompts": {"query": "query: ", "document": ""}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    assert "prompts: questions begin with 'query: ' (by the model's files)" in run("models", folder).stdout
    assert json.loads(run("models", folder, "--json").stdout)["prompts"]["question"] == "query: "
    (folder / "model.safetensors").unlink()
    assert "it cannot be loaded: " in run("models", folder).stdout
