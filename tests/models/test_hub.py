from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub
import pytest
from hub_server import Hub
from huggingface_hub import constants

import oreqa
from oreqa.errors import ModelError
from oreqa.models.hub import WEIGHTS_SHA256, HubName, needed_files, parse_hub_name, read_modules
from oreqa.models.names import find_model
from oreqa.models.stored import get_model, is_same_model, model_store, name_of_snapshot, names_here, pinned_name

NAME = "org/tiny-bert"
ENCODER = ["1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "tokenizer.json"]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def files_of(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def test_a_model_is_downloaded_once(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    repository = shutil.copytree(tiny, tmp_path / "repository")
    for name in (
        "pytorch_model.bin",
        "model_quantized.onnx",
        "onnx/model.onnx",
        "tf_model.h5",
        "code.py",
        "data_config.json",
    ):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("{}")
    commit = hub.add(NAME, repository)
    folder = find_model(NAME)
    assert folder == tmp_path / "hub" / "models--org--tiny-bert" / "snapshots" / commit
    assert files_of(folder) == ENCODER
    assert (folder / "model.safetensors").read_bytes() == (tiny / "model.safetensors").read_bytes()
    assert (name_of_snapshot(folder), pinned_name(NAME)) == (f"{NAME}@{commit}", f"{NAME}@{commit}")
    assert names_here()[-1] == NAME
    hub.requests.clear()
    assert find_model(NAME) == find_model(f"{NAME}@main") == find_model(f"{NAME}@{commit}") == folder
    assert hub.requests == []


def test_a_newer_commit_is_fetched_when_it_is_asked_for(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    old = hub.add(NAME, tiny)
    before = find_model(NAME)
    changed = shutil.copytree(tiny, tmp_path / "changed")
    (changed / "config.json").write_text(
        json.dumps({**json.loads((tiny / "config.json").read_text()), "hidden_act": "relu"})
    )
    new = hub.add(NAME, changed)
    assert find_model(NAME) == before
    hub.requests.clear()
    with steps() as (progress, shown):
        assert get_model(NAME, progress).name == new
    assert hub.downloads() == ["config.json"]
    assert shown == [(f"downloading {NAME}, MB", 0)]
    assert (find_model(NAME).name, find_model(f"{NAME}@{old}").name) == (new, old)
    assert names_here()[-2:] == sorted([NAME, f"{NAME}@{old}"])


def test_a_name_without_a_revision_is_that_of_any_commit(hub: Hub, tiny: Path) -> None:
    commit = hub.add(NAME, tiny)
    assert pinned_name(str(find_model(NAME))) == pinned_name(f"{NAME}@main") == f"{NAME}@{commit}"
    for name, recorded, same in (
        (NAME, f"{NAME}@{commit}", True),
        (f"{NAME}@main", f"{NAME}@{commit}", True),
        (NAME, f"{NAME}-v2@{commit}", False),
        (f"{NAME}@{'0' * 40}", f"{NAME}@{commit}", False),
        ("minilm-reader", "minilm-reader", True),
        ("sentence-transformers/all-mpnet-base-v2", "all-mpnet-base-v2", True),
    ):
        assert is_same_model(name, recorded) is same


def test_what_comes_with_oreqa_is_not_downloaded(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    for name in ("minilm-reader", "sentence-transformers/all-MiniLM-L6-v2"):
        with pytest.raises(ModelError, match=f"^{name} comes with oreqa: there is nothing to download$"):
            get_model(name)
    stored = shutil.copytree(tiny, model_store() / "all-mpnet-base-v2")
    assert get_model("all-mpnet-base-v2") == get_model("sentence-transformers/all-mpnet-base-v2") == stored
    assert names_here()[-1] == "all-mpnet-base-v2"
    assert hub.requests == []


def test_a_branch_is_asked_for_by_name(hub: Hub, tiny: Path, tiny_reader: Path) -> None:
    hub.add(NAME, tiny)
    commit = hub.add(NAME, tiny_reader, branch="refs/pr/1")
    assert find_model(f"{NAME}@refs/pr/1").name == commit
    with pytest.raises(ModelError, match=f"^{NAME}@v2: the model has no revision v2$"):
        find_model(f"{NAME}@v2")


@contextmanager
def steps() -> Iterator[tuple[object, list[tuple[str, int | None]]]]:
    """A progress that notes its stages."""
    stages: list[tuple[str, int | None]] = []

    @contextmanager
    def progress(name: str, total: int | None = None) -> Iterator[object]:
        stages.append((name, total))
        yield lambda count: stages.append(("step", count))

    yield progress, stages


def test_a_broken_connection_is_resumed_where_it_broke(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    hub.add(NAME, tiny)
    hub.broken_file, hub.break_after = "model.safetensors", 20_000
    folder = find_model(NAME)
    assert (folder / "model.safetensors").read_bytes() == (tiny / "model.safetensors").read_bytes()
    ranges = [begin for method, path, begin in hub.requests if method == "GET" and path.endswith("model.safetensors")]
    assert ranges == [None, "bytes=20000-"]


def test_a_killed_download_keeps_its_finished_files(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    commit = hub.add(NAME, tiny)
    hub.broken_file, hub.break_after, hub.stall = "model.safetensors", 20_000, True
    process = subprocess.Popen(
        [sys.executable, "-m", "oreqa", "models", "get", NAME], env=environment(hub, tmp_path), stderr=subprocess.PIPE
    )
    assert hub.stalled.wait(30)
    snapshot = tmp_path / "hub" / "models--org--tiny-bert" / "snapshots" / commit
    process.kill()
    process.communicate()
    assert files_of(snapshot) == [name for name in ENCODER if name != "model.safetensors"]
    assert not names_here()[6:]
    hub.requests.clear()
    assert find_model(NAME) == snapshot
    assert hub.downloads() == ["model.safetensors"]


def environment(hub: Hub, tmp_path: Path, **more: str) -> dict[str, str]:
    """The environment of a process that uses this hub."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "OREQA_CACHE"))}
    source = str(Path(oreqa.__file__).parent.parent)
    places = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HOME": str(tmp_path / "home")}
    return {**kept, **places, "OREQA_CACHE": str(tmp_path / "oreqa"), "PYTHONPATH": source, "no_proxy": "127.0.0.1", **more}


def test_ctrl_c_ends_a_download_at_once_and_leaves_no_part(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    commit = hub.add(NAME, tiny)
    hub.broken_file, hub.break_after, hub.stall = "model.safetensors", 20_000, True
    command = [sys.executable, "-m", "oreqa", "models", "get", NAME]
    process = subprocess.Popen(command, env=environment(hub, tmp_path), stderr=subprocess.PIPE, text=True)
    assert hub.stalled.wait(30)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("interrupted; run the same command again to resume from what was saved")
    repository = tmp_path / "hub" / "models--org--tiny-bert"
    assert files_of(repository / "snapshots" / commit) == [name for name in ENCODER if name != "model.safetensors"]
    assert not list(repository.rglob("*.incomplete"))


def test_progress_counts_megabytes(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    repository = shutil.copytree(tiny, tmp_path / "repository")
    (repository / "model.safetensors").write_bytes(bytes(2_500_000))
    hub.add(NAME, repository)
    with steps() as (progress, shown):
        get_model(NAME, progress)
    assert shown == [(f"downloading {NAME}, MB", 3), ("step", 2)]


def test_without_a_network_the_models_here_are_listed(hub: Hub, tiny: Path, no_network: None) -> None:
    with pytest.raises(ModelError) as raised:
        find_model("org/other")
    here = "here are all-minilm-l6-v2, minilm-retriever, minilm-reader, minilm-classifier, minilm-generator, mpnet-reader"
    assert str(raised.value) == (
        "there is no folder or model org/other here, and HF_HUB_OFFLINE forbids to download it: with a network, run oreqa "
        f"models get org/other; {here}"
    )


@pytest.mark.parametrize(("name", "full"), [
    ("distilbert-base-cased-distilled-squad", "distilbert/distilbert-base-cased-distilled-squad"),
    ("bert-large-uncased-whole-word-masking-finetuned-squad",
     "google-bert/bert-large-uncased-whole-word-masking-finetuned-squad"),
    ("all-MiniLM-L12-v2", "sentence-transformers/all-MiniLM-L12-v2"),
    ("ms-marco-MiniLM-L6-v2", "cross-encoder/ms-marco-MiniLM-L6-v2"), ("xlm-roberta-base", "FacebookAI/xlm-roberta-base"),
    ("e5-small-v2", "intfloat/e5-small-v2"), ("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"), ("t5-small", "google-t5/t5-small"),
])  # fmt: skip
def test_a_well_known_model_without_its_owner_is_named_with_it(hub: Hub, name: str, full: str) -> None:
    with pytest.raises(
        ModelError, match=f"^there is no model '{name}' here; the Hub has it as {full}: oreqa models get {full}$"
    ):
        find_model(name)
    assert hub.requests == []


def test_other_names_have_no_owner(hub: Hub) -> None:
    for name in ("minilm-raeder", "my-bert-base-model", "all-minilm", "roberta"):
        with pytest.raises(ModelError, match="ive a folder, or one of"):
            find_model(name)


def test_an_unreachable_hub_is_one_line(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, tiny)
    find_model(NAME)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(ModelError) as raised:
        find_model("org/other")
    assert str(raised.value).startswith(
        f"there is no folder or model org/other here, and 127.0.0.1:{port} cannot be reached (ConnectError"
    )
    assert str(raised.value).endswith(f", {NAME}")
    assert "\n" not in str(raised.value)


def test_a_gated_model_says_how_to_open_it(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, tiny, token="hf_secret")
    with pytest.raises(ModelError, match=f"^{NAME}: it is gated; accept its terms at {hub.url}/{NAME}, and set HF_TOKEN"):
        find_model(NAME)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert files_of(find_model(NAME)) == ENCODER


@pytest.mark.parametrize("name", ["org/other", "nobody/nothing@main"])
def test_what_the_hub_does_not_have(hub: Hub, name: str) -> None:
    host = hub.url.removeprefix("http://")
    reason = f"folder or model {name} here, and no such model on {host}; if it is private, set HF_TOKEN"
    with pytest.raises(ModelError, match=f"^there is no {reason}$"):
        find_model(name)


def test_a_folder_that_is_here_is_not_said_to_lack(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "org" / "other").mkdir(parents=True)
    with pytest.raises(ModelError, match=r"^there is no model org/other here, and no such model on "):
        get_model("org/other")


def test_a_server_that_fails_is_one_line(hub: Hub, tiny: Path) -> None:
    hub.add(NAME, tiny)
    hub.failure = 418
    with pytest.raises(ModelError, match=f"^there is no folder or model {NAME} here, and .* answered 418; try again later$"):
        find_model(NAME)


def test_a_mistyped_path_is_not_sought_on_the_hub(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name, reason in (
        (
            "runs/reader",
            "there is no model 'runs/reader': runs is here, without it; from the Hub: oreqa models get runs/reader",
        ),
        ("./runs/reader", "there is no model './runs/reader': give a folder"),
        ("runs/reader/last", "there is no model 'runs/reader/last': give a folder"),
        ("/runs/reader", "there is no model '/runs/reader': give a folder"),
        ("tiny-bert", "there is no model 'tiny-bert': give a folder"),
        (Path("org/tiny-bert"), "there is no model 'org/tiny-bert': give a folder"),
    ):
        with pytest.raises(ModelError, match=f"^{re.escape(reason)}"):
            find_model(name)
    with pytest.raises(ModelError, match=r"^there is no model .org/other.: give a folder"):
        find_model("org/other", download=False)
    assert hub.requests == []


def test_a_folder_of_the_name_wins(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    hub.add(NAME, tiny)
    local = shutil.copytree(tiny, tmp_path / "org" / "tiny-bert")
    assert find_model(NAME) == local
    assert pinned_name(NAME) == NAME
    shutil.rmtree(local)
    get_model(NAME)
    assert name_of_snapshot(find_model(NAME)) is not None


def test_a_full_disk_is_one_line(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, tiny)

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    with pytest.raises(ModelError, match=rf"^{NAME}: it cannot be downloaded \(the disk is full\)$"):
        find_model(NAME)


def test_damaged_weights_are_not_kept(hub: Hub, tiny: Path) -> None:
    hub.add(NAME, tiny)
    hub.damage = "model.safetensors"
    with pytest.raises(ModelError, match=f"^{NAME}: model.safetensors was damaged on its way"):
        find_model(NAME)
    hub.damage = ""
    assert files_of(find_model(NAME)) == ENCODER


def test_the_larger_encoder_is_known_by_its_weights(hub: Hub, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = "sentence-transformers/all-mpnet-base-v2"
    hub.add(repo, tiny)
    with pytest.raises(ModelError, match=r"its model.safetensors is not the one that oreqa knows; nothing was downloaded"):
        find_model("all-mpnet-base-v2")
    assert "model.safetensors" not in hub.downloads()
    monkeypatch.setitem(WEIGHTS_SHA256, repo, hashlib.sha256((tiny / "model.safetensors").read_bytes()).hexdigest())
    assert find_model("all-mpnet-base-v2") == find_model(repo)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("intfloat/e5-small-v2", HubName("intfloat/e5-small-v2")),
        ("a/b@refs/pr/1", HubName("a/b", "refs/pr/1")),
        ("a/b@1.0", HubName("a/b", "1.0")),
        *((name, None) for name in ("a", "a/b/c", "./a", "/a/b", "../b", "a/..", "a/b@../c", "a/b@", "a b/c", "~/b", "a/b\n", "")),
    ],
)  # fmt: skip
def test_names_of_the_hub(name: str, expected: HubName | None) -> None:
    assert parse_hub_name(name) == expected


BERT = {"model_type": "bert"}


TOKENIZER = "tokenizer.json"
DENSE = [("Transformer", ""), ("Pooling", "1_Pooling/"), ("Dense", "2_Dense/")]
SHARDED = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]


@pytest.mark.parametrize(
    ("config", "files", "needed"),
    [
        (BERT, ["config.json", "model.safetensors", "pytorch_model.bin", "onnx/model.onnx"], ["config.json", "model.safetensors"]),
        (BERT, ["model.safetensors", "onnx/model.safetensors", "checkpoint-5/model.safetensors"], ["model.safetensors"]),
        (BERT, ["model.safetensors.index.json", *SHARDED], ["model.safetensors.index.json", *SHARDED]),
        (BERT, ["model.safetensors", *SHARDED], ["model.safetensors"]),
        ({"model_type": "model2vec"}, ["model.safetensors"], ["model.safetensors"]),
        ({"model_type": "deberta-v2"}, ["model.safetensors"], ["model.safetensors"]),
        ({"model_type": "deberta-v2"}, ["model.safetensors", "onnx/model.onnx", "onnx/model_quantized.onnx"], ["onnx/model.onnx"]),
        ({"model_type": "deberta-v2"}, ["onnx/model.onnx", "onnx/model.onnx_data"], ["onnx/model.onnx", "onnx/model.onnx_data"]),
        ({"model_type": "new", "auto_map": {}}, ["model.safetensors", "onnx/model.onnx", "code.py"], ["onnx/model.onnx"]),
        (BERT, ["pytorch_model.bin", "openvino/openvino_model.xml", "openvino/openvino_model.bin"],
         ["openvino/openvino_model.bin", "openvino/openvino_model.xml"]),
    ],
)  # fmt: skip
def test_which_files_are_needed(config: dict[str, object], files: list[str], needed: list[str]) -> None:
    assert sorted(needed_files(NAME, [*files, TOKENIZER], config)) == sorted([*needed, TOKENIZER])


@pytest.mark.parametrize(
    ("modules", "files", "needed"),
    [
        (DENSE, ["model.safetensors", "2_Dense/model.safetensors", "2_Dense/pytorch_model.bin", TOKENIZER],
         [TOKENIZER, "2_Dense/model.safetensors", "model.safetensors"]),
        (DENSE, ["onnx/model.onnx", "2_Dense/model.safetensors", TOKENIZER], [TOKENIZER, "2_Dense/model.safetensors", "onnx/model.onnx"]),
        ([("StaticEmbedding", "0_StaticEmbedding/")], ["0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"],
         ["0_StaticEmbedding/tokenizer.json", "0_StaticEmbedding/model.safetensors"]),
        ([("Router", "")],
         [f"{route}_0_Transformer/{file}" for route in ("document", "query") for file in ("model.safetensors", TOKENIZER)],
         ["document_0_Transformer/tokenizer.json", "query_0_Transformer/tokenizer.json",
          "document_0_Transformer/model.safetensors", "query_0_Transformer/model.safetensors"]),
    ],
)  # fmt: skip
def test_modules_have_weights_of_their_own(modules: list[tuple[str, str]], files: list[str], needed: list[str]) -> None:
    assert needed_files(NAME, files, {}, modules) == needed


def test_modules_are_read_by_class_and_folder(tmp_path: Path) -> None:
    assert read_modules(tmp_path) == []
    rows = [{"type": "sentence_transformers.models.StaticEmbedding", "path": "."}, {"type": "a.Dense", "path": "2_Dense"}]
    (tmp_path / "modules.json").write_text(json.dumps(rows))
    assert read_modules(tmp_path) == [("StaticEmbedding", ""), ("Dense", "2_Dense/")]
    for damaged in ("[1]", "{", '[{"type": 1, "path": ""}]'):
        (tmp_path / "modules.json").write_text(damaged)
        assert read_modules(tmp_path) == []


@pytest.mark.parametrize(
    ("config", "modules", "files", "reason"),
    [
        (BERT, [], ["config.json", "pytorch_model.bin"],
         "it has no model.safetensors; pytorch_model.bin is pickled, which oreqa does not load"),
        (BERT, [], ["config.json", "tf_model.h5"], "it has no model.safetensors; tf_model.h5 is pickled"),
        (BERT, [], ["config.json"], "it has no model.safetensors; take a model that has it"),
        (BERT, [], ["model.safetensors.index.json"], "it has no model.safetensors; take a model that has it"),
        ({**BERT, "auto_map": {"AutoModel": "code.Model"}}, [], ["model.safetensors"],
         r"its architecture comes as code \(auto_map"),
        (BERT, DENSE, ["pytorch_model.bin", "2_Dense/model.safetensors", TOKENIZER],
         "it has no model.safetensors; pytorch_model.bin is pickled"),
        (BERT, DENSE, ["model.safetensors", "2_Dense/pytorch_model.bin", TOKENIZER],
         "it has no 2_Dense/model.safetensors; 2_Dense/pytorch_model.bin is pickled"),
        (BERT, [("Router", "")], ["query_0_Transformer/model.safetensors", "document_0_Transformer/pytorch_model.bin"],
         "it has no document_0_Transformer/model.safetensors"),
        (BERT, [], ["model.safetensors", "sentencepiece.bpe.model"], "it has no tokenizer.json; take a model that has it"),
        (BERT, DENSE[:2], ["model.safetensors", "spiece.model"], "it has no tokenizer.json; take a model that has it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_name(
    config: dict[str, object], modules: list[tuple[str, str]], files: list[str], reason: str
) -> None:
    with pytest.raises(ModelError, match=f"^{NAME}: {reason}") as raised:
        needed_files(NAME, files, config, modules)
    assert "\n" not in str(raised.value)


def test_a_refused_model_leaves_its_settings_alone_in_the_cache(hub: Hub, tiny: Path, tmp_path: Path) -> None:
    repository = shutil.copytree(tiny, tmp_path / "repository")
    (repository / "model.safetensors").rename(repository / "pytorch_model.bin")
    hub.add(NAME, repository)
    with pytest.raises(ModelError, match=f"^{NAME}: it has no model.safetensors; pytorch_model.bin is pickled"):
        find_model(NAME)
    assert hub.downloads() == ["config.json", "modules.json"]


def cached_by_another(model: Path) -> Path:
    """The folder of ``model`` in the hub's cache, without the library's list of its files."""
    commit = "a" * 40
    repository = Path(constants.HF_HUB_CACHE) / "models--org--tiny-bert"
    folder = shutil.copytree(model, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return folder


@pytest.mark.parametrize(
    ("removed", "architecture", "complete"),
    [("", "BertModel", True), ("modules.json", "BertModel", False), ("modules.json", "BertForQuestionAnswering", True),
     ("modules.json", "BertForMaskedLM", False), ("model.safetensors", "BertModel", False)],
)  # fmt: skip
def test_what_another_program_downloaded_is_used_if_it_is_whole(
    hub: Hub, tiny: Path, no_network: None, removed: str, architecture: str, complete: bool
) -> None:
    folder = cached_by_another(tiny)
    (folder / removed).unlink() if removed else None
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": [architecture]}))
    if complete:
        assert find_model(NAME) == folder
    else:
        with pytest.raises(ModelError, match="HF_HUB_OFFLINE forbids to download it"):
            find_model(NAME)


def test_shards_that_another_program_downloaded_must_all_be_here(hub: Hub, tiny: Path, no_network: None) -> None:
    folder = cached_by_another(tiny)
    whole = folder / "model.safetensors"
    for number in (1, 2):
        shutil.copy(whole, folder / f"model-0000{number}-of-00002.safetensors")
    whole.unlink()
    shards = {f"tensor {number}": f"model-0000{number}-of-00002.safetensors" for number in (1, 2)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert find_model(NAME) == folder
    (folder / shards["tensor 2"]).unlink()
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE forbids to download it"):
        find_model(NAME)
