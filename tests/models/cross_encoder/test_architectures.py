"""Cross-encoders of others, as sentence-transformers saves them: its scores without the activation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.train

import sentence_transformers  # noqa: E402
import torch  # noqa: E402
from architectures import CONFIGS, TOKENS, make_transformer  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402

from oreqa.errors import ModelError  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder  # noqa: E402
from oreqa.models.cross_encoder.module import open_session  # noqa: E402
from oreqa.models.names import read_config  # noqa: E402

QUERY = "who jumps over the dog"
DOCUMENTS = ["the fox", "the quick brown fox jumps over the lazy dog", "", "it sleeps in house 3 " * 10, "é 中文 ?"]


def make_cross_encoder(folder: Path, model_type: str, labels: int = 1, **settings: Any) -> Path:
    """A folder of sentence-transformers with a random head, whose inputs are at most 64 tokens long."""
    model = make_transformer(folder, model_type, "SequenceClassification", num_labels=labels, **settings)
    special = ("<pad>", "<s>", "</s>") if model.config.pad_token_id == 1 else ("[PAD]", "[CLS]", "[SEP]")
    names = dict(zip(("pad_token", "cls_token", "sep_token"), special, strict=True))
    inputs = ["input_ids", "attention_mask"] + ["token_type_ids"] * (getattr(model.config, "type_vocab_size", 0) > 1)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), model_max_length=64, model_input_names=inputs, **names
    )
    tokenizer.save_pretrained(folder)
    return folder


def their_scores(folder: Path) -> np.ndarray:
    """Logits of sentence-transformers."""
    model = sentence_transformers.CrossEncoder(str(folder), device="cpu")
    pairs = [(QUERY, document) for document in DOCUMENTS]
    return np.asarray(model.predict(pairs, activation_fn=torch.nn.Identity()))


HEADS = [*((model_type, {}) for model_type in CONFIGS), ("modernbert", {"classifier_pooling": "mean"})]


@pytest.mark.parametrize(("model_type", "settings"), HEADS)
def test_scores_are_those_of_sentence_transformers(model_type: str, settings: dict[str, Any], tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", model_type, **settings)
    expected = their_scores(folder)
    assert np.ptp(expected) > 0.05
    ours = CrossEncoder(folder, precision="f32")
    assert np.allclose(ours.score(QUERY, DOCUMENTS), expected, atol=1e-4)
    on_torch = CrossEncoder.of(ours.folder, open_session(ours.folder, "f32", "cpu"))
    assert np.allclose(on_torch.score(QUERY, DOCUMENTS), expected, atol=1e-4)


@pytest.mark.parametrize("model_type", ["bert", "roberta", "distilbert"])
@pytest.mark.parametrize(("names", "yes"), [(["LABEL_0", "LABEL_1"], 1), (["entailment", "not_entailment"], 0)])
def test_two_classes_are_log_odds_of_yes(model_type: str, names: list[str], yes: int, tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", model_type, labels=2)
    config = read_config(folder)
    config["id2label"], config["label2id"] = dict(enumerate(names)), {name: i for i, name in enumerate(names)}
    (folder / "config.json").write_text(json.dumps(config))
    logits = their_scores(folder)
    ours = CrossEncoder(folder, precision="f32")
    on_torch = CrossEncoder.of(ours.folder, open_session(ours.folder, "f32", "cpu"))
    for model in (ours, on_torch):
        assert np.allclose(model.score(QUERY, DOCUMENTS), logits[:, yes] - logits[:, 1 - yes], atol=1e-4)


def test_saved_by_sentence_transformers(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", "roberta")
    prompts = {"prompts": {"search": "find this "}, "default_prompt_name": "search"}
    model = sentence_transformers.CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Sigmoid(), **prompts)
    model.save(str(tmp_path / "saved"))
    expected = their_scores(tmp_path / "saved")
    assert not np.allclose(expected, their_scores(folder), atol=1e-3)
    assert np.allclose(CrossEncoder(tmp_path / "saved", precision="f32").score(QUERY, DOCUMENTS), expected, atol=1e-4)


def test_the_longest_input_is_the_tokenizers(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path, "mpnet")
    assert read_cross_encoder_folder(folder).max_tokens == 64
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": int(1e30)}))
    assert read_cross_encoder_folder(folder).max_tokens == TOKENS
    (folder / "config.json").write_text(json.dumps(read_config(folder) | {"max_position_embeddings": 1026}))
    assert read_cross_encoder_folder(folder).max_tokens == 1024


def test_what_is_no_cross_encoder_is_refused_by_name(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "nli", "electra", labels=3)
    with pytest.raises(ModelError, match=r"the classifier has 3 classes; it must have one output, or two"):
        CrossEncoder(folder)
    config = read_config(folder) | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"it is a language model \(Qwen3ForCausalLM\), which generates its answers, not a"):
        CrossEncoder(folder)
    make_transformer(tmp_path / "encoder", "mpnet")
    with pytest.raises(ModelError, match=r"it is an encoder without a head \(MPNetModel\), not a classifier or reranker"):
        CrossEncoder(tmp_path / "encoder")
    modules = [{"type": "sentence_transformers.base.modules.transformer.Transformer"}, {"type": "x.LogitScore"}]
    folder = make_cross_encoder(tmp_path / "modules", "bert")
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"model_type": "CrossEncoder"}))
    with pytest.raises(ModelError, match="its modules LogitScore are not supported"):
        CrossEncoder(folder)
