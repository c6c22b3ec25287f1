"""Explanations: which stage decided, and the numbers of each stage."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from oreqa import Answerer
from oreqa.answer import Answer
from oreqa.answering.explanation import EXPLAINED_ANSWERS, Explanation, _given, refusal
from oreqa.answering.reply import Reply
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import Reader
from oreqa.text.answers import f1_score


@pytest.fixture
def index(tmp_path: Path, library: Path, fitted: Path) -> Index:
    index_files(tmp_path / "kb", [library], Settings(str(fitted)))
    return Index(tmp_path / "kb")


@pytest.fixture
def sentences(index: Index) -> Answerer:
    return Answerer(index)


@pytest.fixture
def spans(index: Index, fitted_reader: Path) -> Answerer:
    return Answerer(index, Reader(fitted_reader), passages=2)


def ranks_of(explanation: Explanation, name: str) -> list[int]:
    scores = [hit.hit.scores[name] for hit in explanation.hits]
    return [1 + len({other for other in scores if other > score}) for score in scores]


@pytest.mark.parametrize("kind", ["sentences", "spans"])
def test_the_stages_give_what_search_and_ask_give(kind: str, request: pytest.FixtureRequest) -> None:
    answerer: Answerer = request.getfixturevalue(kind)
    question = "What color is the blood of an octopus?"
    explanation = answerer.explain(question)
    reply = answerer.reply(question, EXPLAINED_ANSWERS, threshold=0)
    assert list(explanation.answers) == list(reply.answers)
    read = [hit.hit for hit in explanation.hits if hit.was_read]
    assert read == list(reply.hits)
    unit = "sentence" if kind == "sentences" else "passage"
    assert [hit.hit for hit in explanation.hits] == answerer.index.search(question, 100, unit=unit)  # type: ignore[call-overload]
    assert [hit.rank for hit in explanation.hits] == list(range(1, len(explanation.hits) + 1))
    for name in ("sentence_cosine", "passage_bm25"):
        assert [hit.ranks[name] for hit in explanation.hits] == ranks_of(explanation, name)
    first = explanation.answers[0]
    assert first.confidence is not None
    assert sum(explanation.log_odds.values()) == pytest.approx(math.log(first.confidence / (1 - first.confidence)))
    assert explanation.threshold == answerer.calibration.threshold  # type: ignore[union-attr]
    for hit in explanation.hits:
        hit_answers = [
            a
            for a in explanation.answers
            if a.passage == hit.hit.passage and (kind == "spans" or a.start == hit.hit.sentence.start)
        ]
        assert hit.answer == (hit_answers[0] if hit_answers and hit.was_read else None)


def test_log_odds_are_of_the_passages_as_they_were_read(tmp_path: Path, fitted: Path, fitted_reader: Path) -> None:
    texts = ["--loud\nSay all of an octopus.", "The --quiet octopus is --quiet.", "--quiet\nAn octopus says nothing."]
    index_documents(tmp_path / "kb", [Document(f"{n}.1", "", text) for n, text in enumerate(texts)], Settings(str(fitted)))
    with Index(tmp_path / "kb") as index:
        explanation = Answerer(index, Reader(fitted_reader)).explain("When is an octopus --quiet?")
        reply = Answerer(index, Reader(fitted_reader)).reply("When is an octopus --quiet?", EXPLAINED_ANSWERS, threshold=0)
    assert [hit.hit for hit in explanation.hits if hit.was_read] != list(reply.hits)
    first = explanation.answers[0]
    assert first.confidence is not None
    assert sum(explanation.log_odds.values()) == pytest.approx(math.log(first.confidence / (1 - first.confidence)))


def test_the_statement_of_an_entry_has_no_log_odds(tmp_path: Path, fitted: Path, fitted_reader: Path) -> None:
    text = "--quiet\nSay nothing of an octopus.\n\n--loud\nSay all of it."
    index_documents(tmp_path / "kb", [Document("a.1", "", text)], Settings(str(fitted)))
    with Index(tmp_path / "kb") as index:
        explanation = Answerer(index, Reader(fitted_reader), passages=2).explain("What does --quiet do?", expected="nothing")
    assert explanation.answers[0].text == "Say nothing of an octopus."
    assert (explanation.log_odds, explanation.stage) == ({}, "answered")


def test_the_stage_that_decided(spans: Answerer) -> None:
    question = "Where do bees dance?"
    first = spans.explain(question).answers[0]
    assert first.confidence is not None
    assert spans.explain(question, threshold=0).stage == "answered"
    refused = spans.explain(question, threshold=1)
    assert (refused.stage, refused.threshold) == ("probability", 1)
    assert "lower the --threshold" in refused.next_step
    assert "name the right answer" in spans.explain(question, threshold=0).next_step
    assert spans.explain(question, first.text, threshold=0).next_step == ""
    assert refused.reason == f"“{first.text}” comes first, with {first.percent}, and an answer needs 100%."


def test_an_expected_answer_is_followed_to_the_stage_that_lost_it(spans: Answerer) -> None:
    question = "Where do bees dance?"
    free = spans.explain(question)
    read, unread = [hit for hit in free.hits if hit.was_read], [hit for hit in free.hits if not hit.was_read]
    texts = [hit.hit.passage.text for hit in free.hits]
    assert spans.explain(question, free.answers[0].text, threshold=0).stage == "answered"
    assert spans.explain(question, free.answers[0].text, threshold=1).stage == "probability"
    assert (
        spans.explain(question, "narwhal").reason
        == f"None of the first {len(texts)} passages of the search holds “narwhal”."
    )
    lost = next(hit for hit in unread if texts.count(hit.hit.passage.text) == 1)
    word = max(lost.hit.passage.text.split(), key=len).strip(".")
    below = spans.explain(question, word)
    assert below.stage == "search"
    assert below.reason == f"“{word}” first stands in passage {lost.rank} of the search; the reader read {len(read)}."
    assert [hit.holds_expected for hit in below.hits] == [word in text for text in texts]


def test_an_answer_that_comes_later_and_one_that_the_reader_does_not_see(spans: Answerer) -> None:
    question = "Where do bees dance?"
    free = spans.explain(question, threshold=0)
    texts = [answer.text for answer in free.answers]
    later = next(text for text in texts[1:] if not any(text in other or other in text for other in texts if other != text))
    explanation = spans.explain(question, later)
    assert (explanation.stage, explanation.reason) == (
        "order",
        f"“{later}” is answer {texts.index(later) + 1}; “{texts[0]}” comes first.",
    )
    words = {word: hit.rank for hit in free.hits if hit.was_read for word in hit.hit.passage.text.split() if word.isalpha()}
    unseen = next(word for word in words if all(word not in text and f1_score(text, word) < 0.5 for text in texts))
    explanation = spans.explain(question, unseen)
    assert (explanation.stage, explanation.reason) == (
        "reader",
        f"Passage {words[unseen]} was read and holds “{unseen}”, but it is none of the {len(texts)} best answers.",
    )


def test_a_value_that_shares_its_unit_is_not_the_expected_one(tmp_path: Path, tiny: Path, tiny_reader: Path) -> None:
    documents = [Document("guide-1", "Guide 1", "A file has 20 MB."), Document("guide-2", "Guide 2", "A file has 50 MB.")]
    index_documents(tmp_path / "kb", documents, Settings(str(tiny)))
    with Index(tmp_path / "kb") as index:
        answerer = Answerer(index, Reader(tiny_reader))
        answers = [answer.text for answer in answerer.explain("How large may a file be?").answers]
        for expected in ("70 MB", "50 GB"):
            assert expected not in answers
            assert answerer.explain("How large may a file be?", expected).stage == "search"


def test_names_that_no_passage_holds(spans: Answerer) -> None:
    explanation = spans.explain("What is max_connections of the octopus?")
    assert explanation.stage == "names"
    assert (
        explanation.reason
        == f"None of the first {len(explanation.hits)} passages holds what the question names: max_connections."
    )
    assert explanation.absent_words == ("max", "connections")
    assert {hit.lacks_names for hit in explanation.hits} == {True}
    assert {hit.was_read for hit in explanation.hits} == {False}
    assert explanation.log_odds == {}
    lacking = spans.explain("What is max_connections of the octopus?", "eight arms")
    assert (lacking.stage, "but not all that the question names" in lacking.reason) == ("names", True)


def test_why_there_is_no_answer(spans: Answerer) -> None:
    for question, threshold, reason in (
        ("How many hearts does an octopus have?", 1, "The best guess has "),
        ("What does max_speed_9 do?", None, "No passage holds what the question names: max_speed_9."),
    ):
        reply = spans.reply(question, threshold=threshold)
        assert not reply.answers
        assert refusal(question, reply).startswith(reason)
    assert (
        refusal("Is it?", Reply((), ()))
        == "No document was searched: the index is empty, or no document meets the conditions."
    )
    assert (
        refusal("Is it?", replace(reply, hits=spans.reply("bees").hits))
        == "There is no answer in the passages that were read."
    )


def test_words_that_no_document_holds_and_words_that_were_not_read(tmp_path: Path, tiny: Path, tiny_reader: Path) -> None:
    documents = [Document("a", "", "Bees dance."), Document("b", "", "Tents are waterproof.")]
    index_documents(tmp_path / "kb", documents, Settings(str(tiny)))
    with Index(tmp_path / "kb") as index:
        explanation = Answerer(index, Reader(tiny_reader), passages=1).explain("Do bees dance in waterproof narwhals?")
    read = next(hit.hit.passage.text for hit in explanation.hits if hit.was_read)
    unread = ("waterproof",) if "Bees" in read else ("bees", "dance")
    assert (explanation.absent_words, explanation.unread_words) == (("narwhals",), unread)


def test_without_probability_and_without_documents(tmp_path: Path, index: Index, tiny_reader: Path) -> None:
    other = Answerer(index, Reader(tiny_reader))
    explanation = other.explain("Where do bees dance?")
    assert (explanation.stage, explanation.threshold, explanation.log_odds) == ("answered", None, {})
    assert "give no probability" in explanation.reason
    nothing = other.explain("Where do bees dance?", where={"title": "none"})
    assert (nothing.stage, nothing.hits, nothing.answers) == ("documents", (), ())


def test_what_cannot_be_explained(index: Index, tiny_reader: Path, tiny_classifier: Path, spans: Answerer) -> None:
    reranking = Answerer(index, Reader(tiny_reader), hit_reranker=CrossEncoder(tiny_classifier))
    with pytest.raises(InputError, match="load the answerer without hit_reranker"):
        reranking.explain("Where do bees dance?")
    for question in ("", "  "):
        with pytest.raises(InputError):
            spans.explain(question)


def test_an_unlikely_answer_that_says_otherwise_than_a_likely_one_is_given() -> None:
    answers = []
    for value, year, confidence in (("30", 2025, 0.1), ("26", 2019, 0.6)):
        passage = paragraph_passage(Document(f"leave-{year}.txt", "", f"There are {value} days of leave."))
        sentence = passage.sentences[0]
        answers.append(Answer(value, 10, 12, confidence, sentence, passage, 0.0, {}))
    assert _given(answers, 0.3) == ("probability", "“30” comes first, with 10%, and an answer needs 30%.")
    answers[1] = replace(answers[1], newer="leave-2025.txt")
    said = "“30” comes first, with 10%, and says otherwise than an answer with 30% or more of another document."
    assert _given(answers, 0.3) == ("answered", said)
    assert _given(answers, 0.7)[0] == "probability"
