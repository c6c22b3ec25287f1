from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

import torch  # noqa: E402
from torch import nn  # noqa: E402
from transformers import AutoModelForTokenClassification, MPNetConfig, MPNetModel, PreTrainedConfig  # noqa: E402

from oreqa.errors import ModelError  # noqa: E402
from oreqa.models.graph.module import HeadedModel, has_segments, model_config, new_backbone  # noqa: E402
from oreqa.models.names import read_config  # noqa: E402

_SHAPE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 40}
_SETTINGS = {
    "bert": _SHAPE,
    "roberta": {**_SHAPE, "type_vocab_size": 1},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "vocab_size": 40},
    "mpnet": {**_SHAPE, "max_position_embeddings": 514},
    "electra": {**_SHAPE, "embedding_size": 8},
    "modernbert": {**_SHAPE, "pad_token_id": 0, "local_attention": 4},
}


class Tagger(HeadedModel):
    """As transformers' token classification."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(config.hidden_size, 2)
        self.post_init()


@pytest.mark.parametrize("model_type", [name for name in _SETTINGS if name != "modernbert"])
def test_a_headed_model_is_transformers_own(model_type: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    settings = {"model_type": model_type, **_SETTINGS[model_type], "oreqa": {"kind": "tagger"}}
    model = Tagger(model_config(settings)).eval()
    model.save_pretrained(tmp_path)
    assert read_config(tmp_path)["oreqa"] == {"kind": "tagger"}
    theirs, loading = AutoModelForTokenClassification.from_pretrained(tmp_path, output_loading_info=True)
    assert not loading["missing_keys"] | loading["unexpected_keys"]
    ids = torch.randint(5, 40, (2, 9))
    mask, types = torch.ones_like(ids), (torch.arange(9) > 4).long().expand(2, -1)
    segments = {"token_type_ids": types} if model_type in ("bert", "electra") else {}
    expected = theirs.eval()(input_ids=ids, attention_mask=mask, **segments).logits
    torch.testing.assert_close(model.classifier(model.states(ids, mask, types)), expected)


def test_mpnets_fused_attention_is_transformers_own() -> None:
    torch.manual_seed(0)
    config = model_config({"model_type": "mpnet", **_SHAPE, "attention_probs_dropout_prob": 0.5})
    theirs = MPNetModel(config, add_pooling_layer=False).eval()
    for weights in theirs.parameters():
        nn.init.normal_(weights, 0, 0.3)
    ours = new_backbone(config).eval()
    ours.load_state_dict(theirs.state_dict())
    ids, mask = torch.randint(5, 40, (3, 200)), torch.ones(3, 200, dtype=torch.long)
    mask[1, 7:] = 0
    states, expected = (model(input_ids=ids, attention_mask=mask).last_hidden_state for model in (ours, theirs))
    torch.testing.assert_close(states[mask > 0], expected[mask > 0], atol=1e-4, rtol=1e-4)
    for model in (ours, theirs):
        model(input_ids=ids, attention_mask=mask).last_hidden_state[mask > 0].square().sum().backward()
    for name, weights in theirs.named_parameters():
        gradient = ours.get_parameter(name).grad
        torch.testing.assert_close(gradient, weights.grad, atol=1e-2, rtol=1e-3)
    assert not torch.allclose(ours.train()(input_ids=ids).last_hidden_state, ours(input_ids=ids).last_hidden_state)


@pytest.mark.parametrize("model_type", _SETTINGS)
def test_segments_and_poolers(model_type: str) -> None:
    config = model_config({"model_type": model_type, **_SETTINGS[model_type]})
    assert has_segments(new_backbone(config)) is (model_type in ("bert", "electra"))
    poolers = [getattr(new_backbone(config, pooler), "pooler", None) is not None for pooler in (False, True)]
    assert poolers == [False, model_type in ("bert", "roberta", "mpnet")]


def test_only_transformers_own_classes_are_made() -> None:
    assert isinstance(model_config({"model_type": "mpnet", **_SHAPE}), MPNetConfig)
    with pytest.raises(ModelError, match="transformers has no model type 'mine'"):
        model_config({"model_type": "mine", "auto_map": {"AutoModel": "code.Mine"}})
