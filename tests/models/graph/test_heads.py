"""Heads of our own on encoders of every architecture: OpenVINO computes what the torch class does that saved the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

import torch  # noqa: E402
from architectures import CONFIGS, make_transformer  # noqa: E402
from transformers import AutoModelForQuestionAnswering, PreTrainedModel  # noqa: E402

from oreqa.datasets.pairs import Candidate  # noqa: E402
from oreqa.errors import ModelError  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.cross_encoder.module import new_cross_encoder  # noqa: E402
from oreqa.models.extractor.extractor import Extractor  # noqa: E402
from oreqa.models.extractor.module import ExtractorModel  # noqa: E402
from oreqa.models.graph.module import model_config  # noqa: E402
from oreqa.models.graph.torch import TorchSession  # noqa: E402
from oreqa.models.names import read_config  # noqa: E402
from oreqa.models.reader.module import ReaderModel  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402

PASSAGES = [("the fox", "the quick brown fox jumps. over the lazy dog 12 it goes " * 3), ("", "a dog"), ("t", "")]


def saved(make: Any, folder: Path, model_type: str, labels: int = 2, **oreqa: Any) -> PreTrainedModel:
    """A model with random heads over a random encoder, saved as a training saves it."""
    make_transformer(folder, model_type)
    (folder / "model.safetensors").unlink()
    settings = read_config(folder) | {"oreqa": {"max_tokens": 48, "overlap": 8, **oreqa}, "num_labels": labels}
    torch.manual_seed(1)
    model = make(model_config(settings)).eval()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, 1.0 if name.endswith("orm.weight") else 0.0, 0.2)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("model_type", CONFIGS)
def test_readers_that_select_passages(model_type: str, tmp_path: Path) -> None:
    model = saved(ReaderModel, tmp_path, model_type, titles=True, shared=True)
    reader = Reader(tmp_path, precision="f32")
    on_torch = Reader.of(reader.folder, TorchSession(model, "cpu"))
    spans, expected = (model.read("who jumps", PASSAGES, k=3) for model in (reader, on_torch))
    assert [(s.text, s.passage_number) for s in spans] == [(s.text, s.passage_number) for s in expected]
    for name in ("span", "passage_logit"):
        assert np.allclose([s.scores[name] for s in spans], [s.scores[name] for s in expected], atol=1e-4)
    assert len({s.scores["passage_logit"] for s in spans}) > 1


@pytest.mark.parametrize("model_type", [name for name in CONFIGS if name != "modernbert"])
def test_transformers_loads_our_readers(model_type: str, tmp_path: Path) -> None:
    saved(ReaderModel, tmp_path, model_type)
    _, loaded = AutoModelForQuestionAnswering.from_pretrained(tmp_path, output_loading_info=True)
    assert not loaded["missing_keys"]
    assert set(loaded["unexpected_keys"]) == {"qa_classifier.weight", "qa_classifier.bias"}


@pytest.mark.parametrize("model_type", CONFIGS)
def test_extractors(model_type: str, tmp_path: Path) -> None:
    model = saved(ExtractorModel, tmp_path, model_type, kind="extractor")
    extractor = Extractor(tmp_path, precision="f32")
    on_torch = Extractor.of(extractor.folder, TorchSession(model, "cpu"))
    for spans, expected in zip(extractor.extract(PASSAGES), on_torch.extract(PASSAGES), strict=True):
        assert [s.text for s in spans] == [s.text for s in expected]
        assert np.allclose([s.score for s in spans], [s.score for s in expected], atol=1e-4)


@pytest.mark.parametrize("pooler", [True, False])
@pytest.mark.parametrize("model_type", CONFIGS)
def test_span_rerankers(model_type: str, pooler: bool, tmp_path: Path) -> None:
    model = saved(new_cross_encoder, tmp_path, model_type, labels=1, kind="reranker", pooler=pooler, titles=True)
    with pytest.raises(ModelError, match=r"no \[unused0\] and \[unused1\] to mark a span with"):
        CrossEncoder(tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {
        {4: "[unused0]", 5: "[unused1]"}.get(number, token): number for token, number in vocabulary.items()
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    reranker = CrossEncoder(tmp_path, precision="f32")
    on_torch = CrossEncoder.of(reranker.folder, TorchSession(model, "cpu"))
    candidates = [Candidate(text, PASSAGES[0][1], "title") for text in ("brown", "lazy dog", "12")]
    scores, expected = (model.score("who jumps", candidates) for model in (reranker, on_torch))
    assert np.allclose(scores, expected, atol=1e-4)
    assert np.ptp(scores) > 1e-3
