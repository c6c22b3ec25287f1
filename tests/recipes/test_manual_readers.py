"""The training of both shipped readers, on tiny random ones: a teacher stored as factors and a pupil of four bits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import add_block_head, make_head, make_model, tokenizer_of

torch = pytest.importorskip("torch")

import manual_readers  # noqa: E402
from group_file import GroupFile, Shown, collate_labelled, label_all, save_groups  # noqa: E402
from group_losses import label_loss, pupil_loss  # noqa: E402
from manual_readers import Stage, start_reader, teacher_numbers, train, train_both  # noqa: E402

from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.files import read_json  # noqa: E402
from oreqa.models.graph.torch import load_module  # noqa: E402
from oreqa.models.names import load_tensors  # noqa: E402
from oreqa.models.pack.packing import pack_model  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs, read_reader_folder  # noqa: E402
from oreqa.models.reader.module import ReaderModel, read_groups  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402

pytestmark = pytest.mark.train

TEACHER = Stage(reader="", learning_rate=2e-3, slow_rate=2e-3, dropout=0.0, passes=1.0, tokens=300, seed=0)
RANK = 4


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A base, and two readers that are stored as differences from it."""
    folder = tmp_path_factory.mktemp("readers")
    base = make_model(folder / "base", seed=1)
    make_head(folder / "plain", "reader", seed=1)
    for name, rank in (("teacher", RANK), ("pupil", None)):
        whole = add_block_head(folder / "plain", folder / f"{name}-whole")
        weights, rng = load_file(whole / "model.safetensors"), np.random.default_rng(rank)
        for key in weights:
            if rank is None or "embeddings" not in key or "LayerNorm" in key:
                weights[key] += rng.normal(0, 0.05, weights[key].shape).astype(np.float32)
        save_file(weights, whole / "model.safetensors")
        pack_model(whole, "reader", str(base), folder / name, "CC0", rank)
    return {"base": base, "teacher": folder / "teacher", "pupil": folder / "pupil"}


@pytest.fixture
def groups(readers: dict[str, Path], tmp_path: Path) -> Path:
    """Twelve questions, of which a third is answered by nothing."""
    inputs = ReaderInputs(readers["base"] / "tokenizer.json", 48, 8)
    rng = np.random.default_rng(0)
    examples = []
    for number in range(12):
        first, second = (" ".join(rng.choice(list("abcdefghij"), 12)) + "." for _ in range(2))
        answered = Shown(("t", first), [(4, 7)], [(0, 11)], True) if number % 3 else Shown(("t", first))
        examples.append((f"{'klmnopqrstuv'[number]} the", [answered, Shown(("", second))]))
    save_groups(tmp_path / "groups.npz", label_all(examples, inputs))
    return tmp_path / "groups.npz"


@pytest.fixture
def run(readers: dict[str, Path], groups: Path, tmp_path: Path) -> Callable[..., Path]:
    def run(**keys: Any) -> Path:
        stages = [Stage(**{**_fields(TEACHER), "reader": str(readers[name]), **keys}) for name in ("teacher", "pupil")]
        train_both(groups, tmp_path / "work", *stages, "cpu")
        return tmp_path / "work"

    return run


def _fields(stage: Stage) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in stage.__slots__}  # type: ignore[attr-defined]


def read(model: Any, groups: Path) -> tuple[Any, ...]:
    data = GroupFile(groups)
    with torch.no_grad():
        return read_groups(model.eval(), collate_labelled([data[number] for number in range(len(data))]))


@pytest.mark.parametrize("name", ["teacher", "pupil"])
def test_training_begins_as_the_reader_that_is_stored(readers: dict[str, Path], groups: Path, name: str) -> None:
    folder = readers[name]
    weights = load_weights(folder)
    stored = load_module(partial(ReaderModel, blocks=True), read_reader_folder(folder), weights, "cpu", None)
    model = start_reader(folder, dropout=0.0)
    for logits, expected in zip(read(model, groups), read(stored, groups), strict=True):
        torch.testing.assert_close(logits, expected, rtol=1e-3, atol=1e-4)
    trained = {key.replace(".base_layer.", ".") for key, weight in model.named_parameters() if weight.requires_grad}
    assert {key for key in trained if "embeddings" in key} == {
        f"bert.embeddings.LayerNorm.{kind}" for kind in ("weight", "bias")
    }
    assert {"qa_outputs.weight", "qa_classifier.bias", "qa_blocks.weight"} <= trained
    query = "bert.encoder.layer.0.attention.self.query"
    assert f"{query}.bias" in trained
    assert (f"{query}.weight" in trained) == (name == "pupil")
    assert (f"{query}.lora_A.default.weight" in trained) == (name == "teacher")


def test_factors_of_embeddings_are_refused(readers: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(readers["teacher"], tmp_path / "teacher")
    stored, words = load_file(folder / "difference.safetensors"), "bert.embeddings.word_embeddings"
    height, width = load_weights(readers["base"])[f"{words}.weight"].shape
    stored |= {f"{words}.a": np.ones((RANK, width), np.float16), f"{words}.b": np.ones((height, RANK), np.float16)}
    save_file(stored, folder / "difference.safetensors")
    with pytest.raises(ModelError, match=r"factors of bert\.embeddings\.word_embeddings, which is no linear layer"):
        start_reader(folder, 0.1)


def test_a_reader_that_is_whole_is_refused(tiny_reader: Path) -> None:
    with pytest.raises(ModelError, match="not stored as a difference, as mpnet-reader is; give one that is"):
        start_reader(tiny_reader, 0.1)


def test_steps_lower_the_loss(readers: dict[str, Path], groups: Path) -> None:
    data = GroupFile(groups)
    batch = collate_labelled([data[number] for number in range(len(data))])
    for name in ("teacher", "pupil"):
        torch.manual_seed(0)
        model = start_reader(readers[name], dropout=0.0)
        before = float(label_loss(read(model, groups), batch))
        stage = Stage(**{**_fields(TEACHER), "passes": 3.0})
        record = train(model, data, lambda m, b: label_loss(read_groups(m, b), b), stage, "cpu")
        assert float(label_loss(read(model, groups), batch)) < before
        assert record["steps"] == record["losses"][-1][0] >= 6


def test_a_loss_that_is_no_number_ends_the_training(readers: dict[str, Path], groups: Path) -> None:
    model = start_reader(readers["pupil"], dropout=0.0)
    with pytest.raises(InputError, match=r"diverged at step 1: .* lower the rates"):
        train(model, GroupFile(groups), lambda m, b: label_loss(read_groups(m, b), b) * torch.inf, TEACHER, "cpu")


def test_both_readers_are_packed_as_they_ship(run: Callable[..., Path], readers: dict[str, Path], groups: Path) -> None:
    work = run(passes=2.0, learning_rate=0.1)
    query = "bert.encoder.layer.0.attention.self.query"
    teacher = load_tensors(work / "mpnet-reader" / "difference.safetensors")
    assert (teacher[f"{query}.a"].dtype, teacher[f"{query}.a"].shape) == (np.int8, (RANK, 32))
    pupil = load_tensors(work / "minilm-reader" / "difference.safetensors")
    assert (pupil[f"{query}.weight"].dtype, f"{query}.weight.scale" in pupil) == (np.uint8, True)
    for name, folder, share in (("mpnet-reader", "teacher", 0.02), ("minilm-reader", "pupil", 0.15)):
        base, before, trained, packed = (
            load_weights(path)[f"{query}.weight"]
            for path in (readers["base"], readers[folder], work / "trained" / name, work / name)
        )
        assert np.linalg.norm(packed - trained) < share * np.linalg.norm(trained - base)
        assert np.linalg.norm(packed - before) > 0.02 * np.linalg.norm(trained - base)
        settings = read_json(work / name / "config.json")["oreqa"]
        assert (settings["licence"], settings["difference_from"]) == ("CC0", str(readers["base"]))


def test_an_interrupted_run_keeps_what_is_finished_and_begins_the_rest_anew(
    run: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(manual_readers, "pupil_loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.setattr(manual_readers, "pupil_loss", pupil_loss)
    capsys.readouterr()
    work = run()
    assert capsys.readouterr().out.count("it is finished") == 1
    packed = [(work / name / "difference.safetensors").read_bytes() for name in ("mpnet-reader", "minilm-reader")]
    shutil.rmtree(work)
    assert "it is finished" not in capsys.readouterr().out
    run()
    assert packed == [(work / name / "difference.safetensors").read_bytes() for name in ("mpnet-reader", "minilm-reader")]
    capsys.readouterr()
    run()
    assert capsys.readouterr().out.count("it is finished") == 2
    run(seed=1)  # other settings: nothing is kept
    assert "it is finished" not in capsys.readouterr().out


def test_tokens_have_the_teachers_numbers(readers: dict[str, Path], tmp_path: Path) -> None:
    pupil, teacher = readers["base"], shutil.copytree(readers["base"], tmp_path / "teacher")
    settings = json.loads((teacher / "tokenizer.json").read_text())
    vocabulary = settings["model"]["vocab"]
    shifted = {"<s>": 0, "</s>": 1} | {token: number + 2 for token, number in vocabulary.items()}
    settings["model"]["vocab"] = shifted
    settings["post_processor"] |= {"sep": ["</s>", 1], "cls": ["<s>", 0]}
    (teacher / "tokenizer.json").write_text(json.dumps(settings))
    ids = tokenizer_of(pupil).encode("the a9", "b").ids
    expected = tokenizer_of(teacher).encode("the a9", "b").ids
    assert teacher_numbers(pupil, teacher)[torch.tensor(ids)].tolist() == expected
    del shifted["##z"]
    (teacher / "tokenizer.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="its vocabulary lacks '##z'"):
        teacher_numbers(pupil, teacher)
