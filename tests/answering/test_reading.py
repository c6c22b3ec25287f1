from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from oreqa.answering.combining import Combination
from oreqa.answering.reading import (
    best_answers,
    read_answers,
    read_spans,
    span_scores,
)
from oreqa.answering.reranking import probability
from oreqa.answering.versions import HEAD
from oreqa.core import Document, Passage, Span
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import Candidate
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.blocks import Reading
from oreqa.models.reader.reader import Reader

FOX = paragraph_passage(Document("fox", "the fox", "a fox runs. it eats a bone. then it sleeps"))
BEE = paragraph_passage(Document("bee", "", "bees dance. they sting"))


def span(passage: Passage, number: int, text: str) -> Span:
    start = passage.text.index(text)
    return Span(text, start, start + len(text), number, 0.0, {})


def test_a_re_ranker_is_shown_the_span_and_a_classifier_its_sentence(tiny_reranker: Path, tiny_classifier: Path) -> None:
    spans = [span(FOX, 0, "bone"), span(FOX, 0, "it eats"), span(BEE, 1, "they")]
    reranker, classifier = CrossEncoder(tiny_reranker), CrossEncoder(tiny_classifier)
    (compared,) = span_scores(reranker, ["what does it eat"], [[FOX, BEE]], [spans])
    shown = [Candidate(s.text, (FOX, BEE)[s.passage_number].text, ("the fox", "")[s.passage_number], s.start) for s in spans]
    assert np.allclose(compared, reranker.score("what does it eat", shown), atol=1e-3)
    (judged,) = span_scores(classifier, ["what does it eat"], [[FOX, BEE]], [spans])
    sentences = [Candidate("it eats a bone.", FOX.text, "the fox"), Candidate("they sting", BEE.text)]
    assert np.allclose(judged, classifier.score("what does it eat", sentences)[[0, 0, 1]], atol=1e-3)


@pytest.mark.parametrize("aggregate", [False, True])
def test_a_classifier_reconsiders_the_best_answers(tiny_reader: Path, tiny_classifier: Path, aggregate: bool) -> None:
    reader, classifier = Reader(tiny_reader), CrossEncoder(tiny_classifier)
    weights = Combination(reranking=2.0, rerank_spans=3, aggregate=aggregate)
    inputs = ["who eats a bone"], [[FOX, BEE]], [[0.5, 0.2]]
    (plain,) = read_answers(reader, None, *inputs, weights)
    (ranked,) = read_answers(reader, classifier, *inputs, weights)
    (scores,) = span_scores(classifier, inputs[0], inputs[1], [[answer.span for answer in plain[:3]]])
    log_p = np.log(probability(scores)).tolist()
    wanted = {str(answer.span): answer.score + 2 * log for answer, log in zip(plain, log_p, strict=False)}
    assert {str(answer.span): answer.score for answer in ranked[:3]} == pytest.approx(wanted, abs=2e-2)
    assert [answer.span for answer in ranked[3:]] == [answer.span for answer in plain[3:]]
    assert {answer.scores["reranking_logit"] for answer in ranked[3:]} <= {
        min(answer.scores["reranking_logit"] for answer in ranked[:3])
    }


class Spans:
    """A reader that gives the same spans to every question."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def readings(
        self, questions: Sequence[str], passages: Sequence[Sequence[tuple[str, str]]], k: int, *, excluded: object
    ) -> list[Reading]:
        (((_, text), *_),) = passages
        return [Reading([Span(t, text.index(t), text.index(t) + len(t), 0, 0.0, {"span": 0.0}) for t in self.texts[:k]])]


def test_an_answer_from_the_row_of_a_table_is_a_whole_cell() -> None:
    text = "Two airports are listed.\nname: Canyonlands Field; state: UT; country: USA\nNo more of them."
    passage = paragraph_passage(Document("airports", "", text))
    shown = ("airports", "Field", "state", "UT; country: USA", "UT", "USA\nNo", "them")
    (spans,) = read_spans(cast(Reader, Spans(*shown)), ["in which state"], [[passage]])
    cells = ["airports", "Canyonlands Field", "UT", "UT", "UT", "USA", "them"]
    assert [span.text for span in spans] == cells
    assert all(text[span.start : span.end] == span.text for span in spans)


class Excluding(Spans):
    """A reader that takes everything for an answer that is not excluded."""

    def readings(
        self, questions: Sequence[str], passages: Sequence[Sequence[tuple[str, str]]], k: int, *, excluded: Any
    ) -> list[Reading]:
        (((_, text),),), ((ranges,),) = passages, excluded
        self.texts = tuple(text[start:end] for start, end in ranges)
        return [Reading([])]


@pytest.mark.parametrize(
    ("question", "text", "excluded"),
    [
        (
            "How do I paste into nano?",
            "Q: How can I paste into nano?\nA: With Shift+Insert.",
            ("Q: How can I paste into nano?",),
        ),
        ("Which gnutls needs Knot DNS?", "Knot DNS needs these libraries:\n- libedit\n- gnutls >= 3.3", ()),
        ("Which port has Alpha?", "Ports:\n- Alpha:\n  - tcp 80\n- Beta:\n  - tcp 90", ("- Beta:\n", "  - tcp 90")),
    ],
)
def test_what_is_not_read(question: str, text: str, excluded: tuple[str, ...]) -> None:
    reader = Excluding()
    read_spans(cast(Reader, reader), [question], [[paragraph_passage(Document("a", "", text))]])
    assert reader.texts == excluded


class SpansByPassage(Spans):
    """A reader that takes the first of its texts that a passage holds for an answer."""

    def readings(
        self, questions: Sequence[str], passages: Sequence[Sequence[tuple[str, str]]], k: int, *, excluded: object
    ) -> list[Reading]:
        texts = [[text for _, text in question_passages] for question_passages in passages]
        spans = [
            Span(
                answer,
                text.index(answer),
                text.index(answer) + len(answer),
                number,
                0.0,
                {"passage_logit": 0.0, "span": 0.0},
            )
            for number, text in enumerate(texts[0])
            for answer in [next((each for each in self.texts if each in text), "")]
            if answer
        ]
        return [Reading(spans)]


def test_the_head_of_a_document_dates_the_answers_of_all_its_passages(tmp_path: Path, tiny: Path) -> None:
    head, rest = "# Leave\n\n## Rules\n\nAs of {}.\n\n", "## Days\n\n" + "We like long days off.\n\n" * 60
    folder = tmp_path / "C#"
    folder.mkdir()
    for name, year, days in (("a.md", "March 2019", "26"), ("b.md", "May 2025", "30")):
        text = f"{head.format(year)}{rest}\n\n## Leave\n\nEmployees have {days} days of leave a year."
        (folder / name).write_text(text)
    index_files(tmp_path / "kb", folder, Settings(str(tiny), passage_tokens=64))
    with Index.open(tmp_path / "kb") as index:
        snapshot = index.snapshot()
        hits = index.search("days of leave a year of employees", 20, mode="sparse", unit="passage", snapshot=snapshot)
        assert all(hit.passage.start > HEAD for hit in hits if "26" in hit.passage.text or "30" in hit.passage.text)
        reader = cast(Reader, SpansByPassage("26", "30"))
        (answers,) = best_answers(reader, None, ["days of leave?"], [hits], 3, snapshot, index.encoder, Combination(), None)
    marks = [(answer.text, Path(answer.newer).name, answer.contradicted_by) for answer in answers]
    assert marks == [("30", "", ""), ("26", "b.md", "")]
