from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.errors import ModelError
from oreqa.models.settings import hidden_size, input_positions


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
