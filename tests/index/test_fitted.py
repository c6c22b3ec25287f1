"""What was fitted for an index: it is published with the index, follows it, and counts for its encoder alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_models import make_model

from oreqa.errors import IndexStateError, ModelError
from oreqa.index.change_encoder import change_encoder, copy_generation, publish_fitted
from oreqa.index.fitted import IndexFitted, read_index_fitted
from oreqa.index.generations import require_generation
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.search import Index
from oreqa.models.fitted import Calibration, Fitted
from oreqa.models.names import FITTED, model_fingerprint

CALIBRATION = Calibration({"span": 0.5}, -1.0, 0.25)
READER = {("reader", ""): Fitted(combination={"retrieval": 3.0, "aggregate": False}, calibration=CALIBRATION)}
SENTENCES = {("", ""): Fitted(calibration=Calibration({"margin": 2.0}, 0.0, 0.5))}
FUSION = {"sentence": {"sentence_cosine": 2.0, "passage_bm25": 0.1}, "passage": {"passage_cosine": 1.0}}


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    index_files(tmp_path / "kb", library, model=fitted)
    return tmp_path / "kb"


def published(kb: Path, fitted: Path, pipelines: dict[tuple[str, str], Fitted], fusion: bool = False) -> IndexFitted:
    index_fitted = IndexFitted(model_fingerprint(fitted), FUSION if fusion else {}, pipelines)  # type: ignore[arg-type]
    publish_fitted(kb, lambda _: index_fitted)
    return index_fitted


def in_file(kb: Path) -> IndexFitted:
    return read_index_fitted(require_generation(kb) / FITTED)


def test_an_open_index_follows_what_is_fitted(kb: Path, fitted: Path) -> None:
    with Index.open(kb) as index:
        model_fitted, before = index.fitted, [hit.score for hit in index.search("boots")]
        index_fitted = published(kb, fitted, READER, fusion=True)
        assert in_file(kb) == index_fitted
        assert index.weights("passage") == FUSION["passage"]
        assert [hit.score for hit in index.search("boots")] != before
        assert index.fitted_of(index.snapshot()) == (Fitted(index_fitted.encoder, index_fitted.fusion), index_fitted)
        assert model_fitted.calibration  # it was fitted with the encoder's own weights
        published(kb, fitted, READER | SENTENCES)
        assert [hit.score for hit in index.search("boots")] == before
        assert index.fitted == model_fitted
        assert index.snapshot().index_fitted.pipelines == READER | SENTENCES
    with Index(kb, weights=FUSION) as index:  # type: ignore[arg-type]
        assert index.fitted_of(index.snapshot()) == (Fitted(), IndexFitted())
    assert check_index(kb) == []


def test_updates_and_copies_keep_it_and_another_encoder_does_not(kb: Path, library: Path, fitted: Path) -> None:
    index_fitted = published(kb, fitted, READER)
    (library / "bees.txt").write_text("Bees dance in the dark.\n")
    index_files(kb, library)
    assert in_file(kb) == index_fitted
    (library / "more.txt").touch()  # nothing to encode
    index_files(kb, library)
    assert in_file(kb) == index_fitted
    copy_generation(kb, kb.with_name("copy"))
    assert in_file(kb.with_name("copy")) == index_fitted
    change_encoder(kb, make_model(kb.with_name("other"), seed=3))
    assert in_file(kb) == IndexFitted()
    with Index.open(kb) as index:
        assert index.fitted == Fitted()


def test_it_counts_for_the_encoder_that_it_was_fitted_with(kb: Path) -> None:
    with Index.open(kb) as index:
        before = index.fitted_of(index.snapshot())
        publish_fitted(kb, lambda _: IndexFitted("another", FUSION, READER))  # type: ignore[arg-type]
        assert index.fitted_of(index.snapshot()) == before


def test_a_damaged_file_is_named_and_an_update_does_without_it(kb: Path, library: Path, fitted: Path) -> None:
    published(kb, fitted, READER)
    damaged = require_generation(kb) / FITTED
    damaged.chmod(0o644)
    damaged.write_text(damaged.read_text().replace("0.5", "0.6"))
    with pytest.raises(IndexStateError, match=r"fitted\.json: this file of the index is missing or damaged; rebuild it"):
        Index.open(kb)
    with pytest.raises(IndexStateError, match=r"fitted\.json: this file of the index is missing or damaged"):
        publish_fitted(kb, lambda before: before)
    index_files(kb, library)
    assert in_file(kb) == IndexFitted()


@pytest.mark.parametrize("change", [
    lambda row: row.pop("pipelines"), lambda row: row.update(pipelines=[3]), lambda row: row["pipelines"][0].pop("reader"),
    lambda row: row["pipelines"][0].update(combination={"luck": 1}), lambda row: row.update(fusion={"sentence": {}}),
])  # fmt: skip
def test_a_file_of_another_form_is_named(tmp_path: Path, change: Callable[[object], None]) -> None:
    row = IndexFitted("e", FUSION, READER).row()  # type: ignore[arg-type]
    change(row)
    (tmp_path / FITTED).write_text(json.dumps(row))
    with pytest.raises(ModelError, match=r"fitted\.json: it is damaged"):
        read_index_fitted(tmp_path / FITTED)
