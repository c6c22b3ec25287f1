"""A narrow backbone keeps the principal components of the token embeddings, and a new encoder learns over it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.train

from oreqa.models.encoder.folder import read_encoder_folder  # noqa: E402
from oreqa.models.encoder.module import load_tokens  # noqa: E402
from oreqa.training.backbone import start_encoder  # noqa: E402

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "support" / "small_retrievers.py"


def test_a_narrow_backbone_keeps_most_of_what_tells_tokens_apart(tiny: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("small_retrievers", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = module.narrow_backbone(str(tiny), 12, tmp_path / "narrow")
    wide, narrow = (
        load_tokens(read_encoder_folder(path)).get_input_embeddings().weight.detach().double().numpy()
        for path in (tiny, folder)
    )
    assert narrow.shape == (len(wide), 12)
    left, values, _ = np.linalg.svd(wide - wide.mean(0), full_matrices=False)
    expected = left[:, :12] * values[:12]
    np.testing.assert_allclose(narrow @ narrow.T, expected @ expected.T, atol=1e-4)
    settings = {"kind": "encoder", "context": "none", "query_token_type": 0, "projection": None}
    encoder = start_encoder(folder, settings, 0.0, "gru")
    assert encoder.width == 12
    np.testing.assert_allclose(encoder.passages.backbone.get_input_embeddings().weight.detach().numpy(), narrow, atol=1e-6)
