from __future__ import annotations

import gc
import json
import os
import resource
import stat
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest

from oreqa.core import Span
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph import openvino as module
from oreqa.models.graph.cache import cached_fingerprint, is_intact, save_entry
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.reader.reader import Reader

TEXTS = ["the fox", "a dog that it did not see"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "in_use", WeakValueDictionary())
    return tmp_path / "cache"


def entry(cache: Path) -> Path:
    (folder,) = cache.glob("encoder-*")
    return folder


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 64
    file.write_bytes(content)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


DAMAGES = {"flipped": flip_a_bit, "cut": cut, "empty": lambda file: file.write_bytes(b""), "gone": Path.unlink}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["graph.bin", "graph.xml", "checksums.json"])
def test_a_damaged_graph_is_built_again(cache: Path, tiny: Path, name: str, damage: Callable[[Path], object]) -> None:
    expected = Encoder(tiny).encode(TEXTS)
    damage(entry(cache) / name)
    assert not is_intact(entry(cache))
    assert np.array_equal(Encoder(tiny).encode(TEXTS), expected)
    assert is_intact(entry(cache))
    assert not list(cache.glob(".*"))


def test_a_graph_in_the_cache_is_not_built_again(cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Encoder(tiny).encode(TEXTS)
    monkeypatch.setattr(module, "save_entry", None)  # an error, if it were called
    assert np.array_equal(Encoder(tiny).encode(TEXTS), expected)


@pytest.mark.parametrize(
    "content", ["", "[1]", "{}", '{"graph.bin": 1}', '{"graph.bin": [0, 0]}', "\x00\xff", "null", "[" * 100_000]
)
def test_checksums_of_any_content_are_harmless(cache: Path, tiny: Path, content: str) -> None:
    expected = Encoder(tiny).encode(TEXTS)
    (entry(cache) / "checksums.json").write_text(content)
    assert np.array_equal(Encoder(tiny).encode(TEXTS), expected)
    assert is_intact(entry(cache))


@pytest.mark.parametrize(
    "content",
    ["", "[1]", '"x"', "null", "{", "[" * 100_000, '{"FOLDER": 1}', '{"FOLDER": [[], 2]}', '{"FOLDER": [1, 2, 3]}'],
)
def test_fingerprints_of_any_content_are_harmless(cache: Path, tiny: Path, content: str) -> None:
    cache.mkdir()
    expected = cached_fingerprint(tiny)
    (cache / "fingerprints.json").write_text(content.replace("FOLDER", str(tiny)))
    assert cached_fingerprint(tiny) == expected
    assert json.loads((cache / "fingerprints.json").read_text())[str(tiny)][1] == expected


def test_a_damaged_fingerprint_is_computed_again(cache: Path, tiny: Path) -> None:
    expected = cached_fingerprint(tiny)
    file = cache / "fingerprints.json"
    file.write_text(file.read_text().replace(expected, expected[:-1] + ("0" if expected[-1] != "0" else "1")))
    assert cached_fingerprint(tiny) == expected


def test_a_cache_that_cannot_be_written_is_done_without(cache: Path, tiny: Path) -> None:
    expected = Encoder(tiny).encode(TEXTS)
    for file in entry(cache).iterdir():
        file.unlink()
    entry(cache).rmdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))  # as a disk that fills up while the graph is written
    try:
        vectors = Encoder(tiny).encode(TEXTS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert np.array_equal(vectors, expected)
    assert [file.name for file in cache.iterdir()] == ["fingerprints.json"]


@pytest.mark.parametrize("precision", offered_precisions())
def test_without_a_cache_the_numbers_are_the_same(
    cache: Path, tiny: Path, tiny_reader: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    def numbers() -> tuple[list[float], list[Span]]:
        vectors = Encoder(tiny, precision="f32" if precision == "i8" else precision).encode(TEXTS)
        return vectors.ravel().tolist(), Reader(tiny_reader, precision=precision).read("the fox", TEXTS)

    kept = numbers()
    (cache.parent / "file").write_text("")
    monkeypatch.setenv("OREQA_CACHE", str(cache.parent / "file"))
    assert numbers() == kept


def test_a_failing_write_leaves_nothing_and_keeps_the_entry(tmp_path: Path) -> None:
    assert save_entry(tmp_path / "e", lambda draft: (draft / "a").write_text("first"))

    def fail(draft: Path) -> None:
        (draft / "a").write_text("half")
        raise OSError(28, "No space left on device")

    assert not save_entry(tmp_path / "e", fail)
    assert [folder.name for folder in tmp_path.iterdir()] == ["e"]
    assert (tmp_path / "e" / "a").read_text() == "first"
    assert is_intact(tmp_path / "e")


def test_drafts_of_killed_processes_are_removed(tmp_path: Path) -> None:
    for name, age in (("old", 7200), ("new", 10)):
        (tmp_path / f".draft-{name}").mkdir()
        (tmp_path / f".draft-{name}" / "graph.bin").write_text("x")
        os.utime(tmp_path / f".draft-{name}", (time.time() - age,) * 2)
    assert save_entry(tmp_path / "e", lambda draft: (draft / "a").write_text("x"))
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [".draft-new", "e"]


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_the_umask_decides_who_may_read(cache: Path, tiny: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        Encoder(tiny)
    finally:
        os.umask(before)
    for path in (cache, *cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o777 if path.is_dir() else 0o666) & ~umask, path


def test_an_entry_that_may_not_be_read_is_done_without(cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Encoder(tiny).encode(TEXTS)

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    with monkeypatch.context() as patched:  # not chmod: the tests may run as root
        for method in ("open", "read_bytes", "mkdir", "rename"):
            patched.setattr(Path, method, refuse)
        assert not is_intact(entry(cache))
        assert not save_entry(entry(cache), lambda draft: None)
    with monkeypatch.context() as patched:
        patched.setattr(module, "is_intact", lambda folder: False)
        patched.setattr(module, "save_entry", lambda folder, write: False)
        assert np.array_equal(Encoder(tiny).encode(TEXTS), expected)


def test_models_in_use_share_their_graph(cache: Path, tiny: Path) -> None:
    encoders = [Encoder.load(str(tiny)) for _ in range(2)]
    folder = entry(cache)
    assert [key for key in module.in_use if key[1] == folder] == [(os.getpid(), folder)]
    flip_a_bit(folder / "graph.bin")
    assert (Encoder.load(str(tiny)).encode(TEXTS) == encoders[0].encode(TEXTS)).all()
    assert not is_intact(folder)
    del encoders
    gc.collect()
    assert not [key for key in module.in_use if key[1] == folder]
    Encoder.load(str(tiny))
    assert is_intact(folder)
