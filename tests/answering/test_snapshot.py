"""A reply is of one state of the index, even if another process replaces the index while it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import make_fitted, make_model

from oreqa.answering import Answerer, Reply
from oreqa.arrays import Floats
from oreqa.errors import IndexStateError
from oreqa.index.change_encoder import change_encoder
from oreqa.index.ingest import index_files
from oreqa.index.scores import SCORES
from oreqa.index.scores.questions import Questions
from oreqa.index.search import Index
from oreqa.models.fitted import read_fitted, write_fitted
from oreqa.models.names import FITTED
from oreqa.models.reader.blocks import Reading
from oreqa.models.reader.reader import Reader

QUESTIONS = ["Where are flowers?", "How many hearts has an octopus?", "What is made of leather?"]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another encoder, fitted by itself: its sentences are nearly certain, and no reader was fitted with it."""
    plain = make_model(tmp_path / "plain", seed=3)
    folder = make_fitted(plain, "minilm-retriever", plain, tmp_path / "other")
    write_fitted(folder / FITTED, calibration={"weights": {"sentence_cosine": 0.0}, "bias": 9.0, "threshold": 0.9})
    return folder


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    index_files(tmp_path / "kb", library, model=fitted)
    return tmp_path / "kb"


def numbers(replies: list[Reply]) -> list[object]:
    """What a reply says, in numbers: answers and hits with their scores, confidences, and whether they are calibrated."""
    return [
        ([(a.text, a.confidence, a.score, a.scores) for a in reply.answers], [h.score for h in reply.hits], reply.calibrated)
        for reply in replies
    ]


def once(change: Callable[[], object]) -> Callable[[], None]:
    """Calls ``change`` at its first call alone."""
    waiting = [change]

    def call() -> None:
        if waiting:
            waiting.pop()()

    return call


def test_hits_and_calibration_are_of_one_generation(kb: Path, fitted: Path, other: Path) -> None:
    """The index is replaced while it is searched: the calibration must be that of the encoder that found the hits."""
    replace_index = once(lambda: change_encoder(kb, other))

    def bm25_while_the_index_is_replaced(questions: Questions) -> Iterator[Floats]:
        replace_index()
        return SCORES["sentence_bm25"].score(questions)

    watched = replace(SCORES["sentence_bm25"], score=bm25_while_the_index_is_replaced)
    with Index.open(kb) as index, Index(kb, scores={**SCORES, "sentence_bm25": watched}) as changing:
        before = Answerer(index).reply(QUESTIONS, threshold=0)
        during = Answerer(changing).reply(QUESTIONS, threshold=0)
        after = Answerer(index).reply(QUESTIONS, threshold=0)
    assert numbers(during) == numbers(before)
    assert numbers(after) != numbers(before)
    assert all(answer.confidence == pytest.approx(0.99988, abs=1e-5) for reply in after for answer in reply.answers)
    assert read_fitted(fitted).calibration != read_fitted(other).calibration


def test_an_answer_is_calibrated_as_its_reply_says(kb: Path, fitted_reader: Path, other: Path) -> None:
    """The index is replaced by one of an encoder that the reader does not know, while the passages are read."""
    replace_index = once(lambda: change_encoder(kb, other))

    class ReaderWhileTheIndexIsReplaced(Reader):
        def readings(self, *arguments: object, **more: object) -> list[Reading]:  # type: ignore[override]
            replace_index()
            return super().readings(*arguments, **more)  # type: ignore[arg-type]

    with Index.open(kb) as index:
        before = Answerer(index, Reader(fitted_reader)).reply(QUESTIONS, threshold=0)
        changing = Answerer(index, ReaderWhileTheIndexIsReplaced.load(fitted_reader))
        during = changing.reply(QUESTIONS, threshold=0)
        assert changing.calibration is None
    assert all(reply.calibrated for reply in before)
    assert numbers(during) == numbers(before)


@pytest.mark.parametrize("ask", [Answerer.ask, Answerer.explain])
def test_damage_that_is_met_after_the_search_is_named(
    kb: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., object]
) -> None:
    def meet_damage(*_: object) -> None:
        raise ValueError("no JSON")

    with Answerer.load(kb, reader=None) as answerer:
        monkeypatch.setattr("oreqa.answering.answerer.computed_answers", meet_damage)
        with pytest.raises(ValueError, match="no JSON"):
            ask(answerer, QUESTIONS[0])
        with (answerer.index.snapshot().generation / "documents.db").open("ab") as file:
            file.write(b"\0")
        with pytest.raises(IndexStateError, match=r"documents\.db: this file of the index is missing or damaged"):
            ask(answerer, QUESTIONS[0])
