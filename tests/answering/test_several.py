from __future__ import annotations

import pytest

from oreqa.answer import Answer
from oreqa.answering.several import MOST_SPANS, NUMBERED_MARGIN, SPANS_MARGIN, several_ranges, with_several
from oreqa.core import Document, Hit, Passage, Span
from oreqa.corpus.splitter import paragraph_passage

TEXT = "It listens on port 443 for TLS, on port 22 for SSH and on port 53. Ada, Grace and Alan wrote it."


def span(text: str, score: float, number: int = 0) -> Span:
    start = TEXT.index(text)
    return Span(text, start, start + len(text), number, score, {})


def texts(best: Span, spans: list[Span], number: int | None = None) -> list[str]:
    return [TEXT[start:end] for start, end in several_ranges(TEXT, (best.start, best.end), spans, number)]


def test_spans_near_the_best_answer_too_in_the_order_of_the_text() -> None:
    spans = [span("22", -1.0), span("443", -1.5), span("port 443", -1.6), span("53", -0.9 - SPANS_MARGIN - 0.2)]
    assert texts(spans[0], spans) == ["443", "22"]


def test_the_margin_is_from_the_best_span_even_if_another_has_a_higher_score() -> None:
    spans = [span("443", -1.0), span("22", -2.0), span("53", -1.5 - SPANS_MARGIN)]
    assert texts(spans[1], spans) == ["443", "22", "53"]


def test_a_number_is_reached_and_not_passed() -> None:
    spans = [span("443", -1.0), span("22", -2.0), span("53", -0.9 - NUMBERED_MARGIN), span("TLS", -1.1 - NUMBERED_MARGIN)]
    assert texts(spans[0], spans, 2) == ["443", "22"]
    assert texts(spans[0], spans, 3) == ["443", "22", "53"]
    assert texts(spans[0], spans, 4) == ["443", "22", "53"]  # the next one is too unlikely


def test_a_list_is_its_items() -> None:
    best = span("Ada, Grace and Alan", -1.0)
    assert texts(best, [best, span("Grace", -1.2)]) == ["Ada", "Grace", "Alan"]
    assert texts(best, []) == ["Ada", "Grace", "Alan"]


def test_equal_spans_are_listed_once() -> None:
    text = "SSH, TLS and the SSH. Later SSH and TLS."
    spans = [Span(each, start := text.index(each), start + len(each), 0, score, {})
             for each, score in (("SSH, TLS and the SSH", -1.0), ("SSH and TLS", -2.0))]  # fmt: skip
    ranges = several_ranges(text, (spans[0].start, spans[0].end), spans, None)
    assert [text[start:end] for start, end in ranges] == ["SSH", "TLS"]
    assert ranges[0][0] == 0


def test_a_mark_at_the_end_of_a_clause_is_no_answer() -> None:
    text = "It needs a few libraries:\n- gnutls\n+"
    spans = [Span(each, text.index(each), text.index(each) + len(each), 0, score, {})
             for each, score in (("a few libraries", -1.0), (":", -1.5), ("-", -1.8), ("+", -2.0))]  # fmt: skip
    ranges = several_ranges(text, (spans[0].start, spans[0].end), spans, None)
    assert [text[start:end] for start, end in ranges] == ["a few libraries", "+"]


def test_no_answer_has_more_than_the_most() -> None:
    text = ", ".join(f"n{number}" for number in range(MOST_SPANS + 5))
    assert len(several_ranges(text, (0, len(text)), [], None)) == MOST_SPANS


def test_what_the_best_span_lists_comes_before_what_another_does() -> None:
    other, best = ", ".join(f"n{number}" for number in range(MOST_SPANS)), "TLS, SSH"
    text = f"{other}. {best}"
    spans = [
        Span(each, text.index(each), text.index(each) + len(each), 0, score, {})
        for each, score in ((best, -1.0), (other, -2.0))
    ]
    ranges = several_ranges(text, (spans[0].start, spans[0].end), spans, None)
    assert [text[start:end] for start, end in ranges][-2:] == ["TLS", "SSH"]
    assert len(ranges) == MOST_SPANS


@pytest.fixture
def hit() -> Hit:
    before = "Ports. "
    whole = paragraph_passage(Document("d", "", before + TEXT))
    shift = len(before)
    passage = Passage("d", "", "", TEXT, shift, shift + len(TEXT), tuple(s for s in whole.sentences if s.start >= shift))
    return Hit(1.0, passage, passage.sentences[0], 0, 0, {})


def answer(hit: Hit, text: str) -> Answer:
    start = hit.passage.start + TEXT.index(text)
    return Answer(text, start, start + len(text), 0.5, hit.sentence, hit.passage, 1.0, {})


def test_an_answer_to_a_question_for_several_has_all_spans_with_offsets_of_the_document(hit: Hit) -> None:
    answers = [answer(hit, "443"), answer(hit, "22"), answer(hit, "Ada")]
    spans = [span("443", -1.0), span("22", -2.0)]
    first, last = with_several("Which ports does it use?", answers, [hit], spans)
    assert (first.text, first.start) == ("443", answers[0].start)
    assert [(piece.text, piece.start) for piece in first.spans] == [("443", answers[0].start), ("22", answers[1].start)]
    assert first.whole_text == "443, 22"
    assert first.marked == [(a.start, a.end) for a in answers[:2]]
    assert last.text == "Ada"  # what stands among the first one's spans is no further answer


def test_other_questions_and_single_spans_stay_as_they_are(hit: Hit) -> None:
    answers = [answer(hit, "443"), answer(hit, "22")]
    spans = [span("443", -1.0), span("22", -2.0)]
    assert with_several("Which port does it use?", answers, [hit], spans) == answers
    alone = with_several("Which ports does it use?", answers[:1], [hit], spans[:1])
    assert alone == answers[:1]
    assert alone[0].spans == ()
    assert alone[0].marked == [(answers[0].start, answers[0].end)]


def test_spans_of_other_passages_are_no_part_of_an_answer(hit: Hit) -> None:
    other = Hit(0.5, paragraph_passage(Document("e", "", TEXT)), hit.sentence, 1, 1, {})
    (first,) = with_several("Which ports?", [answer(hit, "443")], [other, hit], [span("443", -1.0, 1), span("22", -1.1, 0)])
    assert first.spans == ()
