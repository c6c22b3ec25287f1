from __future__ import annotations

import math
from pathlib import Path

import pytest

from oreqa import Answerer
from oreqa.answering.confidence import SENTENCES as CALIBRATION
from oreqa.answering.confidence import Calibration
from oreqa.answering.confidence import sentence_features as features
from oreqa.errors import InputError
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings

SUM = Calibration({"sentence_cosine": 1.0, "margin": 2.0}, -0.5, 0.4)


def test_probability_is_logistic() -> None:
    assert SUM.probability({"sentence_cosine": 0.3, "margin": 0.6}) == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert SUM.probability({"sentence_cosine": -1e6, "margin": 0}) == 0


@pytest.fixture
def answerer(tmp_path: Path, library: Path, tiny: Path) -> Answerer:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    return Answerer.load(tmp_path / "kb", reader=None)


def test_answers_and_their_evidence(answerer: Answerer, library: Path) -> None:
    answers = answerer.ask("What color is the blood of an octopus?", k=3, threshold=0)
    assert len(answers) == 3
    assert answers[0].score >= answers[1].score
    for answer in answers:
        assert 0 <= answer.confidence <= 1
        assert answer.text == answer.sentence.text
        assert answer.sentence in answer.passage.sentences


def test_confidence_is_computed_from_the_parts(answerer: Answerer) -> None:
    hits = answerer.index.search(["leather boots"], 10)[0]
    first, second = answerer.ask("leather boots", k=2, threshold=0)
    found = features(hits[0], hits[1].score)
    assert found["margin"] == pytest.approx(hits[0].score - hits[1].score)
    assert first.confidence == pytest.approx(CALIBRATION.probability(found))
    assert second.confidence == pytest.approx(CALIBRATION.probability(features(hits[1], hits[0].score)))


def test_coverage_of_a_sentence_that_holds_every_word(answerer: Answerer) -> None:
    hit = answerer.index.search(["leather boots"], 1)[0][0]
    assert 0 < features(hit, hit.score)["sentence_coverage"] <= 1
    unknown = answerer.index.search(["leather boots xylophone"], 1)[0][0]
    assert features(unknown, 0)["sentence_coverage"] < features(hit, 0)["sentence_coverage"]


def test_abstains_below_the_threshold(answerer: Answerer) -> None:
    assert answerer.ask("boots", threshold=1) == []
    assert answerer.ask_all(["boots", "tents"], threshold=1) == [[], []]
    assert answerer.ask("boots", where=[("kind", "none")], threshold=0) == []


def test_bad_questions(answerer: Answerer) -> None:
    for question in ("", "  \n"):
        with pytest.raises(InputError, match="the question is empty"):
            answerer.ask(question)
    with pytest.raises(InputError, match="whole number from 1"):
        answerer.ask("x", k=0)
    with pytest.raises(InputError, match="threshold is 2"):
        answerer.ask("x", threshold=2)


def test_the_real_model_answers_and_abstains(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "demo" / "library"
    index_files(tmp_path / "kb", [folder / "octopus.md", folder / "piano.md", folder / "mars.md"])
    answerer = Answerer.load(tmp_path / "kb", reader=None)
    answers = answerer.ask("Who built the first pianos?")
    assert answers[0].text == "Bartolomeo Cristofori built the first pianos in Florence around 1700."
    assert answers[0].confidence > 2 * CALIBRATION.threshold
    assert answerer.ask("Who won the football world cup in 1974?") == []
