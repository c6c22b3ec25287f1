from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.numpy import load_file

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.models.cross_encoder.module import new_cross_encoder  # noqa: E402
from oreqa.training.backbone import start_headed  # noqa: E402


@pytest.mark.parametrize("head", [False, True])
def test_a_model_starts_from_another(tiny_reranker: Path, head: bool) -> None:
    import torch

    start = load_file(tiny_reranker / "model.safetensors")
    torch.manual_seed(0)
    model = start_headed(new_cross_encoder, tiny_reranker, dropout=0.0, head=head, num_labels=1, oreqa={"pooler": False})
    same = {name for name, value in model.state_dict().items() if name in start and (value.numpy() == start[name]).all()}
    heads = {"classifier.weight", "classifier.bias"}
    assert same == set(start) - (set() if head else heads)


@pytest.mark.parametrize(("freeze", "layers"), [(False, 0), (True, 0), (True, 1)])
def test_embeddings_learn_unless_they_are_frozen(tiny_reader: Path, freeze: bool, layers: int) -> None:
    model = start_headed(
        new_cross_encoder, tiny_reader, dropout=0.0, freeze_embeddings=freeze, frozen_layers=layers, num_labels=1
    )
    learned = {name for name, value in model.named_parameters() if value.requires_grad}
    assert ("bert.embeddings.word_embeddings.weight" in learned) is not freeze
    assert ("bert.embeddings.LayerNorm.bias" in learned) is not freeze
    assert ("bert.encoder.layer.0.output.dense.weight" in learned) is (layers == 0)
    assert "bert.encoder.layer.1.output.dense.weight" in learned
