from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.errors import ModelError
from oreqa.models.settings import hidden_size, input_positions, is_built


@pytest.mark.parametrize(
    ("model_type", "padding", "tokens"), [("bert", 0, 514), ("mpnet", 1, 512), ("roberta", 1, 512), ("xlm-roberta", 0, 513)]
)
def test_positions_begin_behind_the_padding(model_type: str, padding: int, tokens: int) -> None:
    config = {"model_type": model_type, "max_position_embeddings": 514, "pad_token_id": padding}
    assert input_positions(config, Path("m")) == tokens


def test_width_by_the_architectures_own_name() -> None:
    for config in ({"model_type": "mpnet", "hidden_size": 24}, {"model_type": "distilbert", "dim": 24}):
        assert hidden_size(config, Path("m")) == 24
    with pytest.raises(ModelError, match="its setting hidden_size is None"):
        hidden_size({"model_type": "distilbert", "hidden_size": 24, "dim": None}, Path("m"))


def test_names_of_other_architectures() -> None:
    config = {"model_type": "nomic_bert", "n_embd": 24, "n_positions": 2048}
    assert (hidden_size(config, Path("m")), input_positions(config, Path("m"))) == (24, 2048)
    assert hidden_size({"model_type": "t5", "d_model": 32}, Path("m")) == 32


@pytest.mark.parametrize(("model_type", "name"), [("t5", "T5"), ("bart", "Bart")])
def test_generators_are_built_and_their_encoders_are_not(model_type: str, name: str) -> None:
    assert is_built({"model_type": model_type, "architectures": [f"{name}ForConditionalGeneration"]})
    assert not is_built({"model_type": model_type, "architectures": [f"{name}EncoderModel"]})
