"""Retrieval scores by their names: a new one is a function and an entry, and takes part in all that a search does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from tiny_models import make_model

from oreqa.arrays import Floats
from oreqa.core import Document, Unit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import InputError
from oreqa.index import scoring
from oreqa.index.passages import index_passages
from oreqa.index.scores import SCORES
from oreqa.index.scores.questions import Questions, RetrievalScore
from oreqa.index.scoring import mode_weights, plain_weights
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.fitted import write_fitted

TEXTS = (
    "The fox ran home. It was late.",
    "A dog slept. The fox saw it.",
    "Rain fell all night.",
    "Birds sang. A fox met a dog.",
)


def named_title(questions: Questions) -> Iterator[Floats]:
    """1 for passages whose title the question names."""
    ids = questions.passages.passage_ids.tolist()
    passages = questions.snapshot.passages(ids)
    for text in questions.texts:
        yield np.array([passages[number][0].title in text for number in ids], np.float32)


WITH_TITLE = {**SCORES, "named_title": RetrievalScore("passage", "sparse", 0.5, named_title)}


@pytest.fixture(params=["every sentence", "candidates"], autouse=True)
def _searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a search, whatever the size of the index."""
    if request.param == "candidates":
        monkeypatch.setattr(scoring, "EXHAUSTIVE", 0)


@pytest.fixture(scope="module")
def folder(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    passages = [paragraph_passage(Document(f"d{i}", f"Title {i}", text)) for i, text in enumerate(TEXTS)]
    kb = tmp_path_factory.mktemp("kb") / "kb"
    return index_passages(kb, passages, Settings(str(tiny))).folder


def test_a_new_score_ranks_with_the_others(folder: Path) -> None:
    weights = {"named_title": 1.0, "sentence_bm25": 0.1, "sentence_cosine": 0.001}
    index = Index(folder, scores=WITH_TITLE, weights={"sentence": weights})
    best, second, *others = index.search(["the fox of Title 2", "the fox of Title 0"], 9)[0]
    assert (best.passage.title, best.scores["named_title"]) == ("Title 2", 1.0)
    assert second.scores["named_title"] == 0.0
    assert len(others) == 5
    for hit in (best, second, *others):
        assert hit.scores.keys() == weights.keys()
        assert hit.score == pytest.approx(sum(weight * hit.scores[name] for name, weight in weights.items()), abs=1e-5)
    scores = list(index.score_all(["the fox of Title 2", "the fox of Title 0"]))
    assert [int(np.argmax(question_scores)) for question_scores in scores] == [4, 0]


def test_modes_choose_among_the_names(folder: Path) -> None:
    index = Index(folder, scores=WITH_TITLE)
    names = {mode: set(index.search(["fox"], 1, mode=mode)[0][0].scores) for mode in ("hybrid", "dense", "sparse")}
    assert names["dense"] == {"sentence_cosine", "passage_cosine"}
    assert names["sparse"] == {"sentence_bm25", "passage_bm25", "named_title", "bm25_bound"}
    assert names["hybrid"] == names["dense"] | names["sparse"]
    assert index.weights("passage") == plain_weights(WITH_TITLE)


def test_every_score_apart(folder: Path) -> None:
    index = Index(folder, scores=WITH_TITLE)
    (scores,) = index.raw_scores(["fox of Title 3"])
    weights = index.weights()
    together = sum(np.float32(weights[name]) * scores.by_sentence(name) for name in WITH_TITLE)
    assert np.allclose(together, next(index.score_all(["fox of Title 3"])), atol=1e-5)
    assert scores.by_sentence("named_title").tolist() == [0, 0, 0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("weights", "mode", "reason"),
    [
        ({"luck": 1.0}, "hybrid", "no retrieval score 'luck': choose sentence_cosine, passage_cosine"),
        ({"sentence_cosine": 1.0}, "sparse", "no retrieval score of the mode sparse has a weight"),
        ({"sentence_bm25": 0.0}, "hybrid", "no retrieval score of the mode hybrid has a weight"),
    ],
)
def test_weights_that_rank_nothing(weights: Mapping[str, float], mode: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        mode_weights(weights, mode, SCORES)  # type: ignore[arg-type]


def test_a_score_of_the_wrong_length_is_named(folder: Path) -> None:
    short = RetrievalScore("passage", "hybrid", 1.0, lambda questions: iter([np.zeros(2, np.float32)]))
    with pytest.raises(ValueError, match=r"the score short has the shape \(2,\); there are 4 passages"):
        Index(folder, scores={**SCORES, "short": short}).search(["fox"])


def test_weights_come_with_the_encoder_and_do_not_change_its_fingerprint(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    passages = [paragraph_passage(Document(f"d{i}", "", text)) for i, text in enumerate(TEXTS)]
    index = index_passages(tmp_path / "kb", passages, Settings(str(model)))
    assert not index.fitted.fusion
    assert index.weights() == plain_weights(SCORES)
    fusion = {"sentence": {"sentence_bm25": 1.0, "passage_bm25": 0.5}, "passage": {"sentence_cosine": 1.0}}
    write_fitted(model / "fitted.json", fusion=fusion)
    fitted = Index.open(tmp_path / "kb")
    assert fitted.weights("sentence") == fusion["sentence"]
    assert fitted.weights("passage") == fusion["passage"]
    hit = fitted.search(["fox"], 1)[0][0]
    assert hit.score == pytest.approx(hit.scores["sentence_bm25"] + 0.5 * hit.scores["passage_bm25"])
    assert fitted.search(["fox"], 1, unit="passage")[0][0].scores.keys() == {"sentence_cosine"}
    assert not Index(tmp_path / "kb", weights={"sentence": {"sentence_cosine": 1.0}}).fitted.fusion


def test_words_are_searched_without_the_model(tmp_path: Path) -> None:
    model = make_model(tmp_path / "model")
    passages = [paragraph_passage(Document("d", "", TEXTS[0]))]
    index_passages(tmp_path / "kb", passages, Settings(str(model)))
    model.rename(tmp_path / "gone")
    index = Index.open(tmp_path / "kb")
    assert index.search(["fox"], 1, mode="sparse")[0][0].sentence.text == "The fox ran home."
    assert index.weights() == plain_weights(SCORES)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"sentences": {"sentence_cosine": 1.0}}, "there is no unit 'sentences'"),
        ({"sentence": {}}, "no retrieval score"),
        ({"sentence": {"cosine": 1.0}}, "there is no retrieval score 'cosine'"),
        ({"sentence": {"sentence_cosine": float("nan")}}, "must be a finite number"),
        ({"sentence": {"sentence_cosine": "1"}}, "must be a finite number"),
    ],
)
def test_wrong_weights_are_refused(folder: Path, weights: dict[Unit, dict[str, float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Index(folder, weights=weights)


def test_a_unit_without_weights_of_its_own_keeps_the_others(folder: Path) -> None:
    plain, changed = Index.open(folder), Index(folder, weights={"sentence": {"sentence_cosine": 1.0}})
    assert dict(changed.weights("sentence")) == {"sentence_cosine": 1.0}
    assert changed.weights("passage") == plain.weights("passage")
    with pytest.raises(InputError, match="there is no mode 'hybird'"):
        changed.weights("sentence", "hybird")  # type: ignore[arg-type]
