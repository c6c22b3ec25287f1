from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from interruption import interrupted
from safetensors.numpy import load_file
from training_parts import reader_recipe, retriever_recipe

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.errors import InputError  # noqa: E402
from oreqa.models.cross_encoder.module import new_cross_encoder  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.pack.packing import pack_model  # noqa: E402
from oreqa.models.reader.module import ReaderModel  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402
from oreqa.training.backbone import start_headed  # noqa: E402
from oreqa.training.lora import save_difference  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.recipes import Lora  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.train import train_retriever  # noqa: E402

INPUTS = torch.tensor([[2, 5, 6, 3, 7, 8, 9, 3]]), torch.ones(1, 8, dtype=torch.long), torch.tensor([[0] * 4 + [1] * 4])


def test_a_saved_difference_computes_what_the_factors_did(tiny_reader: Path, tmp_path: Path) -> None:
    lora = Lora(rank=2, alpha=6.0)
    model = start_headed(ReaderModel, tiny_reader, dropout=0.0, head=True, lora=lora, oreqa={"kind": "reader"}).eval()
    with torch.no_grad():
        before = model(*INPUTS)
        for name, weight in model.named_parameters():
            if ".lora_B." in name or (weight.requires_grad and weight.ndim == 1):
                weight.add_(torch.randn(weight.shape, generator=torch.manual_seed(0)) / 10)
        trained = model(*INPUTS)
    save_difference(model, str(tiny_reader), tmp_path)
    loaded = start_headed(ReaderModel, tmp_path, dropout=0.0, head=True).eval()
    for start, expected, actual in zip(before, trained, loaded(*INPUTS), strict=True):
        assert not torch.allclose(start, expected, atol=0.05)
        torch.testing.assert_close(actual, expected, atol=0.01, rtol=0.01)
    saved = load_file(tmp_path / "difference.safetensors")
    assert {value.dtype for value in saved.values()} == {np.dtype(np.float16)}
    assert saved["bert.encoder.layer.1.output.dense.a"].shape == (2, 64)
    assert saved["bert.encoder.layer.1.output.dense.b"].shape == (32, 2)
    assert not any("embeddings" in name or "lora" in name or "base_layer" in name for name in saved)


@pytest.mark.parametrize(
    ("targets", "frozen", "layers"),
    [((), 0, 12), ((), 1, 6), (("query", "value"), 0, 4), (("attention.output.dense",), 1, 1), (("dense",), 0, 6)],
)
def test_what_has_factors_trains_and_all_else_stays(
    tiny_reader: Path, targets: tuple[str, ...], frozen: int, layers: int
) -> None:
    lora = Lora(rank=3, targets=targets)
    settings = {"oreqa": {}, "num_labels": 1, "frozen_layers": frozen}
    model = start_headed(new_cross_encoder, tiny_reader, dropout=0.0, lora=lora, **settings)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    assert sum(".lora_A." in name for name in trained) == sum(".lora_B." in name for name in trained) == layers
    others = {name for name, value in trained.items() if value.ndim > 1 and ".lora_" not in name}
    assert others == {"bert.pooler.dense.weight", "classifier.weight"}  # both are new
    assert any(name.startswith("bert.encoder.layer.0.") for name in trained) is not bool(frozen)


def test_names_of_targets_are_checked(tiny_reader: Path) -> None:
    with pytest.raises(InputError, match=r"no linear layer is called q; there are attention.self.query, .*output.dense$"):
        start_headed(ReaderModel, tiny_reader, dropout=0.0, lora=Lora(targets=("q",)))


@pytest.mark.system
def test_a_reader_of_factors_reads_and_resumes(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = reader_recipe(squad_file, tiny, lora={"rank": 4}, data=[{"file": str(squad_file), "epochs": 4}])
    record = train_recorded(train_reader, recipe, tmp_path / "whole")
    assert record["losses"][-1][1] < record["losses"][0][1]
    assert {file.name for file in (tmp_path / "whole").iterdir()} == {"config.json", "difference.safetensors", "run.json"}
    spans = Reader(tmp_path / "whole").read("who jumps over dog 3", ["fox 3 jumps over dog 3"])
    assert spans
    began, ended = load_weights(tiny), load_weights(tmp_path / "whole")
    name = "bert.encoder.layer.0.output.dense.weight"
    assert np.linalg.matrix_rank(ended[name] - began[name], tol=1e-4) == 4
    np.testing.assert_array_equal(*(of["bert.embeddings.word_embeddings.weight"] for of in (began, ended)))
    interrupted(lambda: train_reader(recipe, tmp_path / "cut"), step=5)
    assert train_reader(recipe, tmp_path / "cut")["seconds_since_step"] == 3
    whole, cut = (load_file(tmp_path / place / "difference.safetensors") for place in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)
    pack_model(tmp_path / "whole", "reader", str(tiny), tmp_path / "packed", "CC0", rank=4)
    packed = load_weights(tmp_path / "packed")
    step = np.abs(ended[name] - began[name]).max() / 20
    np.testing.assert_allclose(packed[name], ended[name], atol=step)
    further = recipe.model_copy(update={"backbone": str(tmp_path / "whole"), "lora": None})
    train_reader(further, tmp_path / "further")
    assert (tmp_path / "further" / "model.safetensors").is_file()


def test_a_retriever_of_factors_encodes_as_its_base_does(squad_file: Path, fitted: Path, tmp_path: Path) -> None:
    recipe = retriever_recipe(squad_file, fitted, lora={"rank": 4}, epochs=4, scale=20.0, max_tokens=32)
    record = train_retriever(recipe, tmp_path / "m")
    assert record["losses"][-1][1] < record["losses"][0][1]
    encoder, base = Encoder(tmp_path / "m", precision="f32"), Encoder(fitted, precision="f32")
    assert (encoder.folder.max_tokens, encoder.folder.pooling, encoder.folder.normalise) == (32, "mean", True)
    assert encoder.folder.context == "late_chunking"
    assert not np.allclose(encoder.encode("fox 3"), base.encode("fox 3"), atol=1e-3)
    assert (tmp_path / "m" / "fitted.json").is_file()
    still = recipe.optimiser.model_copy(update={"learning_rate": 1e-30})
    train_retriever(recipe.model_copy(update={"optimiser": still}), tmp_path / "still")
    same = Encoder(tmp_path / "still", precision="f32").encode("fox 3")
    np.testing.assert_allclose(same, base.encode("fox 3"), atol=1e-3)  # biases and norms are kept in float16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_tokens": 65}, "max_tokens = 65 is more than the 64 positions"),
        ({"pooling": "cls", "context": "none"}, r"pooling = cls is not .*'s, which .* set pooling=mean"),
        ({"similarity": "dot"}, r"similarity = dot is not .*'s, which .* set similarity=cosine"),
    ],
)
def test_a_difference_that_could_not_say_all_is_refused(
    squad_file: Path, tiny: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train_retriever(retriever_recipe(squad_file, tiny, lora={}, **changes), tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("changes", [{"projection": 8}, {"towers": "separate"}, {"encoder": "gru"}, {"alignment": {}}])
def test_factors_need_a_backbone_alone(squad_file: Path, tiny: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\[lora\] saves a difference from the backbone alone"):
        retriever_recipe(squad_file, tiny, lora={}, **changes)
    with pytest.raises(ValueError, match=r"\[lora\] keeps the embeddings as they are: set freeze_embeddings=true"):
        reader_recipe(squad_file, tiny, lora={}, freeze_embeddings=False)
