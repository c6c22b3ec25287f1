"""An index records what its vectors were made with beside the model: prompts, and the dimensions that were kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.errors import IndexStateError, InputError
from oreqa.index.change_encoder import change_encoder, publish_fitted
from oreqa.index.current import existing_prompts, existing_settings
from oreqa.index.fitted import IndexFitted
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.prompts import Prompts
from oreqa.models.fitted import Calibration, Fitted, write_fitted
from oreqa.models.names import model_fingerprint

PIPELINES = {("reader", ""): Fitted(calibration=Calibration({"margin": 0.5}, -1.0, 0.25))}
TEXTS = ["the fox ran over a hill.", "a dog slept in its house."]


@pytest.fixture
def e5(tiny: Path, tmp_path: Path) -> Path:
    """A model whose prompts are known by its name."""
    return shutil.copytree(tiny, tmp_path / "e5-small")


def test_an_index_says_which_prompts_it_uses(e5: Path, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("\n\n".join(TEXTS))
    arguments = ["index", str(tmp_path / "docs"), "--index", str(tmp_path / "kb")]
    line = "prompts: questions begin with 'query: ', passages begin with 'passage: ' (by the model's name)"
    for again in (["--model", str(e5)], []):
        assert line in CliRunner().invoke(app, [*arguments, *again]).output.replace("\n", " ")
    shown = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert shown["prompts"] == {"question": "query: ", "passage": "passage: "}
    assert existing_prompts(tmp_path / "kb").by_name
    change_encoder(tmp_path / "kb", tiny)
    assert not existing_prompts(tmp_path / "kb")
    assert "prompts" not in CliRunner().invoke(app, arguments).output
    change_encoder(tmp_path / "kb", e5)
    assert existing_prompts(tmp_path / "kb") == Prompts("query: ", "passage: ")


def test_a_model_without_its_prompts_is_another(e5: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", TEXTS, Settings(model=str(e5)))
    with Index.open(tmp_path / "kb") as index:
        assert index.search("the fox", 1, mode="dense")
    (e5 / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "", "document": "text: "}}))
    with Index.open(tmp_path / "kb") as index, pytest.raises(IndexStateError, match="is not the one that made this index"):
        index.search(["the fox"], 1, mode="dense")


def test_dimensions_are_kept_with_the_index(tiny: Path, e5: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    index_documents(kb, TEXTS, Settings(model=str(tiny), truncate_dim=8))
    index_documents(kb, ["a bee hums."])
    settings = existing_settings(kb)
    assert settings is not None
    assert settings.truncate_dim == 8
    with Index.open(kb) as index:
        assert np.array(index.passage_vectors()).shape == (3, 8)
        (hit,) = index.search("a dog slept", 1, mode="dense", unit="passage")
        texts = [passage.text for passage in index.passages()]
        cosines = np.array(index.passage_vectors()) @ index.encoder.encode("a dog slept")
        assert hit.passage.text == texts[int(cosines.argmax())]
    for wrong, reason in ((16, "built with --truncate-dim 8, not 16"), (None, "built with --truncate-dim 8, not None")):
        with pytest.raises(IndexStateError, match=reason):
            index_documents(kb, TEXTS, Settings(model=str(tiny), truncate_dim=wrong))
    change_encoder(kb, e5)
    with Index.open(kb) as index:
        assert index.encoder.dim == 8
    index_documents(tmp_path / "whole", TEXTS, Settings(model=str(tiny)))
    with pytest.raises(IndexStateError, match="it was built without --truncate-dim; omit the option"):
        index_documents(tmp_path / "whole", TEXTS, Settings(model=str(tiny), truncate_dim=8))
    with pytest.raises(InputError, match="of the model's 32 dimensions, 1 to 32 can be kept, not 99"):
        index_documents(tmp_path / "wide", TEXTS, Settings(model=str(tiny), truncate_dim=99))
    assert not (tmp_path / "wide").exists()


def test_an_index_of_some_dimensions_says_that_its_answers_have_no_probability(tiny: Path, tmp_path: Path) -> None:
    model = shutil.copytree(tiny, tmp_path / "model")
    calibration = {"weights": {"margin": 0.5}, "bias": -1.0, "threshold": 0.25}
    write_fitted(model / "fitted.json", encoder=model_fingerprint(model), calibration=calibration)
    (tmp_path / "a.txt").write_text(TEXTS[0])
    line = 'with --truncate-dim answers are "not calibrated": oreqa fit --index {} fits their probabilities\n'
    for dim, says in ((8, True), (32, False)):
        kb = tmp_path / f"kb{dim}"
        arguments = ["index", str(tmp_path / "a.txt"), "--index", str(kb)]
        for more in (["--model", str(model), "--truncate-dim", str(dim)], []):
            assert (line.format(kb) in CliRunner().invoke(app, [*arguments, *more]).output) == says
    publish_fitted(
        tmp_path / "kb8", lambda before: IndexFitted(before.encoder or _fingerprint(tmp_path / "kb8"), {}, PIPELINES)
    )
    assert (
        "not calibrated"
        not in CliRunner().invoke(app, ["index", str(tmp_path / "a.txt"), "--index", str(tmp_path / "kb8")]).output
    )


def _fingerprint(kb: Path) -> str:
    with Index.open(kb) as index:
        return index.fingerprint
