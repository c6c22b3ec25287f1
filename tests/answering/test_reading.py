from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from oreqa.answering.combining import Combination
from oreqa.answering.reading import read_answers, read_spans, span_scores
from oreqa.answering.reranking import probability
from oreqa.core import Document, Passage, Span
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import Candidate
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
