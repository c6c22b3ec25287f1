from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from interruption import files_of_at_most, interrupted
from safetensors.numpy import load_file
from training_parts import reader_recipe, retriever_recipe

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from parameters import first_and_system  # noqa: E402

from oreqa.errors import InputError  # noqa: E402
from oreqa.training.checkpoints import last_whole_checkpoint, seal_checkpoint  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def as_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: list[Callable[[Path], object]] = [flip, lambda file: file.write_bytes(b""), Path.unlink, as_a_folder]


def checkpoint(folder: Path, step: int, **files: str) -> Path:
    """A sealed checkpoint."""
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True)
    for name, text in {"trainer_state.json": '{"epoch": 1}', "model.safetensors": "weights", **files}.items():
        (path / name).write_text(text)
    seal_checkpoint(path)
    return path


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["model.safetensors", "trainer_state.json", "checksums.json"])
def test_the_last_whole_checkpoint_is_taken_and_a_damaged_one_removed(
    tmp_path: Path, name: str, damage: Callable[[Path], object]
) -> None:
    first, second = checkpoint(tmp_path, 9), checkpoint(tmp_path, 10)
    assert last_whole_checkpoint(tmp_path) == second
    damage(second / name)
    if name == "checksums.json" and damage is Path.unlink:  # as an earlier version wrote it
        assert last_whole_checkpoint(tmp_path) == second
        (second / "trainer_state.json").write_text('{"epo')
    assert last_whole_checkpoint(tmp_path) == first
    assert not second.exists()


def test_a_checkpoint_needs_the_best_one_and_what_lies_beside_it(tmp_path: Path) -> None:
    best = checkpoint(tmp_path, 2)
    (tmp_path / "clusters-0.npy").write_text("of both")
    last = checkpoint(tmp_path, 4, **{"trainer_state.json": '{"best_global_step": 2}'})
    (tmp_path / "clusters-1.npy").write_text("made after it")
    shutil.copytree(tmp_path, tmp_path / "copy")
    assert last_whole_checkpoint(tmp_path) == last
    assert not (tmp_path / "clusters-1.npy").exists()
    flip(tmp_path / "clusters-0.npy")
    assert last_whole_checkpoint(tmp_path) == best
    assert not (tmp_path / "clusters-0.npy").exists()
    flip(tmp_path / "copy" / best.name / "model.safetensors")
    assert last_whole_checkpoint(tmp_path / "copy") is None


@pytest.mark.parametrize(
    "name", first_and_system(["model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"])
)
def test_a_training_whose_last_checkpoint_is_damaged_ends_as_an_uninterrupted_one(
    squad_file: Path, tiny: Path, tmp_path: Path, name: str
) -> None:
    recipe = reader_recipe(squad_file, tiny)
    train_reader(recipe, tmp_path / "whole")
    interrupted(lambda: train_reader(recipe, tmp_path / "cut"), 7)
    flip(tmp_path / "cut" / "checkpoints" / "checkpoint-6" / name)
    assert train_reader(recipe, tmp_path / "cut")["seconds_since_step"] == 3
    whole, cut = (load_file(tmp_path / folder / "model.safetensors") for folder in ("whole", "cut"))
    assert all((whole[key] == cut[key]).all() for key in whole)


@pytest.mark.parametrize("size", first_and_system([60_000, 2_000, 160_000]))
def test_a_training_on_a_disk_that_fills_up_says_so_and_goes_on_later(
    squad_file: Path, tiny: Path, tmp_path: Path, size: int
) -> None:
    recipe = reader_recipe(squad_file, tiny)
    train_reader(recipe, tmp_path / "whole")
    with files_of_at_most(size), pytest.raises(InputError, match=r"/cut.*: it cannot be written \("):
        train_recorded(train_reader, recipe, tmp_path / "cut")
    train_recorded(train_reader, recipe, tmp_path / "cut")
    whole, cut = (load_file(tmp_path / folder / "model.safetensors") for folder in ("whole", "cut"))
    assert all((whole[key] == cut[key]).all() for key in whole)


def test_damaged_clusters_are_made_anew(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, tiny, batches="clusters", clusters=3, epochs=2)
    train_retriever(recipe, tmp_path / "whole")
    interrupted(lambda: train_retriever(recipe, tmp_path / "cut"), 5)
    flip(tmp_path / "cut" / "checkpoints" / "clusters-0.npy")
    assert "seconds_since_step" not in train_retriever(recipe, tmp_path / "cut")  # their batches were seen already
    whole, cut = (load_file(tmp_path / folder / "model.safetensors") for folder in ("whole", "cut"))
    assert all((whole[key] == cut[key]).all() for key in whole)
