from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from growth import growth

from oreqa.answering.combining import Combination
from oreqa.answering.reading import read_answers, read_spans, span_scores
from oreqa.answering.reranking import probability
from oreqa.core import Document, Passage, Span
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import Candidate
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.reader.reader import Reader
from oreqa.text.cells import answering_cell, asked_cells

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
    asked = ["who eats a bone"], [[FOX, BEE]], [[0.5, 0.2]]
    (plain,) = read_answers(reader, None, *asked, weights)
    (ranked,) = read_answers(reader, classifier, *asked, weights)
    (scores,) = span_scores(classifier, asked[0], asked[1], [[answer.span for answer in plain[:3]]])
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

    def read(self, questions: Sequence[str], passages: Sequence[Sequence[tuple[str, str]]], *, k: int) -> list[list[Span]]:
        (((_, text), *_),) = passages
        return [[Span(t, text.index(t), text.index(t) + len(t), 0, 0.0, {"span": 0.0}) for t in self.texts[:k]]]


def test_an_answer_from_the_row_of_a_table_is_a_whole_cell() -> None:
    text = "Two airports are listed.\nname: Canyonlands Field; state: UT; country: USA\nNo more of them."
    passage = paragraph_passage(Document("airports", "", text))
    shown = ("airports", "Field", "state", "UT; country: USA", "UT", "USA\nNo", "them")
    (spans,) = read_spans(cast(Reader, Spans(*shown)), ["in which state"], [[passage]])
    assert [span.text for span in spans] == ["airports", "Canyonlands Field", "UT", "USA", "them"]  # a cell once
    assert all(text[span.start : span.end] == span.text for span in spans)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many votes did Joly get in Loyola?", "2648"),
        ("What is the total of Loyola?", "28009"),
        ("How many people chose Char in Loyola?", "35-Loyola"),  # Char is not Charest
        ("Which votes of Charest and Joly were counted in Loyola?", "35-Loyola"),  # two columns are named
        ("Where are the 35 of Loyola?", "35-Loyola"),  # none is
        ("Which district voted for Joly?", "35-Loyola"),  # the answer is no part of the question
    ],
)
def test_of_a_row_that_a_question_names_the_named_column_answers(question: str, answer: str) -> None:
    text = "district: 35-Loyola; Charest: 19130; Joly: 2648; total: 28009"
    passage = paragraph_passage(Document("votes", "", text))
    (spans,) = read_spans(cast(Reader, Spans("Loyola")), [question], [[passage]])
    assert [span.text for span in spans] == [answer]
    assert text[spans[0].start : spans[0].end] == answer


@pytest.mark.parametrize(
    ("question", "read", "answer"),
    [
        ("Which product costs 74,90?", "A-7", "Tile cutter"),
        ("In the list, which product has the number A-7?", "A-7", "Tile cutter"),
        ("What is the price of the tile cutter?", "A-7", "74,90"),
        ("What was the number that the tile cutter had?", "74,90", "A-7"),
        ("When is the tile cutter lent on Tuesdays?", "cutter", "8-17"),
        ("Which maker sells it?", "A-7", "A-7"),  # no such column
        ("By which product is it replaced?", "A-7", "A-7"),
    ],
)
def test_the_column_that_a_question_asks_for_answers(question: str, read: str, answer: str) -> None:
    text = "number: A-7; product: Tile cutter; price: 74,90; Mon: closed; Tue: 8-17"
    passage = paragraph_passage(Document("tools", "", text))
    (spans,) = read_spans(cast(Reader, Spans(read)), [question], [[passage]])
    assert [span.text for span in spans] == [answer]


@pytest.mark.parametrize(
    ("text", "question", "read", "answer"),
    [
        # Stop words name no cell, and money is no Monday.
        ("step: 3; action: rinse with water; duration: 5 min", "What action comes with step 3?", "3", "rinse with water"),
        ("name: Pool; Mon: closed; price: 5 EUR", "How much money does the Pool cost?", "Pool", "Pool"),
        ("name: Pool; Mon: closed; price: 5 EUR", "Is the Pool open on Mondays?", "Pool", "closed"),
        # What belongs to a column is another column.
        ("country: France; capital: Paris; people: 68", "What is the capital's population in France?", "68", "68"),
        ("country: France; capital: Paris; people: 68", "What is the capital city's population?", "68", "68"),
        # Units, short forms, and the longer of two names.
        ("name: Drill; price (EUR): 60; stock: 6", "What's the price of the drill?", "6", "60"),
        ("name: Drill; price: 60; price range: 50-70", "What is the price range of the drill?", "Drill", "50-70"),
        ("name: Drill; price: 60; price range: 50-70", "What is the price of the drill?", "Drill", "60"),
        # Lines of a record.
        ("Type: boolean\nDefault: yes\n\nIt asks before it sends.", "What is the default of ask_send?", "boolean", "yes"),
        ("Type: boolean\nDefault: yes\n\nIt asks before it sends.", "What is the type of ask_send?", "asks", "asks"),
        ("Syntax: | ask on|off\nDefault: | ask off\nStatus: | core", "What is the default of ask?", "on|off", "ask off"),
        ("Type: boolean\nDefault: yes", "Is ask_send on?", "boolean", "boolean"),
        ("Default: yes", "What is the default?", "Default", "Default"),
    ],
)
def test_what_a_question_asks_for(text: str, question: str, read: str, answer: str) -> None:
    (spans,) = read_spans(cast(Reader, Spans(read)), [question], [[paragraph_passage(Document("t", "", text))]])
    assert [span.text for span in spans] == [answer]


@pytest.mark.slow
def test_long_questions_take_linear_time() -> None:
    text = "; ".join(f"column {number}: value {number}" for number in range(20))

    def read(question: str) -> None:
        asked = asked_cells(question)
        for place in range(0, len(text), 10):
            answering_cell(Span(text[place], place, place + 1, 0, 0.0, {}), text, asked)

    assert growth(read, lambda size: ", what is it" * size, 2_000) < 10
