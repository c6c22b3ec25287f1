"""Model folders that name the former module of QuestionTransformer go on loading."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder

TEXTS = ["who jumps over the dog", "where sleeps the fox"]


@pytest.mark.train
def test_a_folder_that_names_the_former_module_loads_in_sentence_transformers(tiny: Path, tmp_path: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    from oreqa.models.encoder.module import QUERY_TOKEN_TYPE, save_encoder, start_from

    settings = {"kind": "encoder", "context": "late_chunking", "query_token_type": QUERY_TOKEN_TYPE, "projection": None}
    model = start_from(tiny, settings, 0.0)
    with torch.no_grad():
        model.bert.embeddings.token_type_embeddings.weight[QUERY_TOKEN_TYPE] += torch.linspace(-1, 1, 32)
    folder = tmp_path / "m"
    save_encoder(model, read_encoder_folder(tiny), "mean", 64, folder)
    modules = json.loads((folder / "modules.json").read_text())
    assert modules[0]["type"] == "oreqa.models.encoder.module.QuestionTransformer"
    modules[0]["type"] = "oreqa.models.dual_encoder.QuestionTransformer"
    (folder / "modules.json").write_text(json.dumps(modules))

    # sentence-transformers imports modules other than its own only with trust_remote_code.
    loaded = SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    questions = loaded.encode_query(TEXTS)
    np.testing.assert_allclose(questions, Encoder.load(folder, precision="f32").encode(TEXTS), atol=2e-5)
    assert not np.allclose(questions, loaded.encode_document(TEXTS), atol=1e-2)
