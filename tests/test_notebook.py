"""Answers in notebooks: what is marked, that nothing in a text is more than a text, and that both themes can be read."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from oreqa import Answer, Passage, Place, Reply, Sentence
from oreqa.answer import AnswerBlock, Computation, Piece
from oreqa.core import Hit

EVIL = "<script>alert(1)</script> \"it's\" <img src=x onerror='alert(2)'> {{7*7}} &amp; </div>"
OVERRIDDEN = "gnp\u202e.exe \x1b[2J\x00\u2066\x85"


class Page(HTMLParser):
    """The tags of a page, its text, and what is marked."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text, self.marked, self.open = "", "", list[str]()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attrs} <= {"style", "dir"}
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        self.marked += data if "mark" in self.open else ""


def answer_in(text: str, quoted: str, title: str = "", key: str = "a.md", **others: object) -> Answer:
    sentence = Sentence(text, 10, 10 + len(text))
    passage = Passage(key, title, "", text, 10, 10 + len(text), (sentence,), places=(Place(10, line=3),))
    start = 10 + text.index(quoted)
    return Answer(quoted, start, start + len(quoted), 0.934, sentence, passage, 2.1, {}, **others)  # type: ignore[arg-type]


def page_of(shown: Answer | Reply) -> Page:
    page = Page(shown._repr_html_())
    assert page.open == []
    return page


def test_the_sentence_has_the_answer_marked_and_its_source() -> None:
    page = page_of(answer_in("An octopus has three hearts.", "three", "Octopus"))
    assert page.marked == "three"
    for words in ("three", "sure, 93%", "An octopus has three hearts.", "a.md:3", "Octopus"):
        assert words in page.text
    assert page.text.count("An octopus has three hearts.") == 1


def test_all_spans_are_marked_and_nothing_else() -> None:
    text = "It speaks TLS and <b>SSH</b>."
    spans = tuple(Piece(name, 10 + text.index(name), 13 + text.index(name)) for name in ("TLS", "SSH"))
    page = page_of(answer_in(text, "SSH", spans=spans))
    assert page.marked == "TLSSSH"
    assert page.text.startswith("TLS, SSH")
    assert text in page.text


def test_a_sentence_that_is_the_answer_stands_once() -> None:
    assert page_of(answer_in("Bees dance.", "Bees dance.")).text.count("Bees dance.") == 1


@pytest.mark.parametrize("evil", [EVIL, OVERRIDDEN])
def test_nothing_of_a_document_is_more_than_a_text(evil: str) -> None:
    answer = answer_in(f"The key {evil} is here {evil}", evil, evil, f"{evil}.md", newer=evil, contradicted_by=evil)
    page = page_of(answer)
    assert set(page.tags) <= {"div", "b", "span", "mark", "bdi"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page.text)
    if evil == EVIL:
        assert page.marked == evil
        assert page.text.count(evil) == 7


def test_a_text_has_its_own_direction() -> None:
    text = "לתמנון שלושה לבבות."
    answer = answer_in(text, "שלושה")
    assert f'dir="auto">{text[:7]}<mark' in answer._repr_html_()
    assert page_of(answer).marked == "שלושה"


def test_a_block_is_shown_in_its_lines_with_what_is_omitted() -> None:
    pieces = (Piece("To stop it:", 10, 21), Piece("2. Press Q\n   twice.", 30, 50, cut=True))
    text = "To stop it:\n1. Save\n2. Press Q\n   twice."
    answer = answer_in(text, "Press Q", block=AnswerBlock(pieces, "list", 0.6), form="block")
    page = page_of(answer)
    assert "To stop it:[...]2. Press Q\n   twice." in page.text
    assert "white-space:pre-wrap" in answer._repr_html_()


def test_a_computed_answer_shows_its_first_rows() -> None:
    texts = [f"name: {name}" for name in ("Anna", "Ben", "Carl", "Dora", "Emil")]
    rows = tuple((Passage(f"s.csv#{n}", "", "", t, 0, len(t), ()), Sentence(t, 0, len(t))) for n, t in enumerate(texts))
    answer = Answer("5", 0, 10, None, rows[0][1], rows[0][0], 0.0, {}, form="computed",
                    computation=Computation("count", "", rows, 9))  # fmt: skip
    page = page_of(answer)
    assert "name: Carl" in page.text
    assert "name: Dora" not in page.text
    assert "and 2 more" in page.text
    assert "5 computed from 9 rows of a table" in page.text


def test_a_reply_shows_its_answers_or_what_is_nearest() -> None:
    answer = answer_in("An octopus has three hearts.", "three")
    hit = Hit(0.5, answer.passage, answer.sentence, 1, 1, {"cosine": 0.51234})
    shown = page_of(Reply((answer, answer), (hit,), respelt={"ocopus": "octopus"}))
    assert shown.marked == "threethree"
    assert shown.text.startswith("“ocopus” is in no document; asked for “octopus”.")
    other = replace(hit, passage=replace(hit.passage, document_key="b.md"), passage_id=2)
    refused = page_of(Reply((), (hit, other), best=answer))
    assert refused.text.startswith("The documents may not answer this. Best guess:")
    assert refused.marked == "three"
    assert refused.text.count("An octopus has three hearts.") == 2  # the guess's passage is not near it, but in it
    nothing = page_of(Reply((), (hit,))).text
    assert nothing.startswith("No answer found.The nearest passages:An octopus has three hearts.")
    assert page_of(Reply((), ())).text == "No answer found."


def test_no_colour_is_set_but_behind_the_mark() -> None:
    html = answer_in("An octopus has three hearts.", "three")._repr_html_()
    assert re.findall(r"[\"; ]color:(\w+)", html) == ["inherit"]
    assert "#" not in html


def test_the_dictionary_of_a_reply_is_json() -> None:
    answer = answer_in("An octopus has three hearts.", "three")
    hit = Hit(0.5, answer.passage, answer.sentence, 1, 1, {"cosine": 0.51234})
    row = json.loads(json.dumps(Reply((), (hit,), best=answer).to_dict()))
    assert list(row) == ["found", "calibrated", "answers", "respelt", "guess", "nearest"]
    assert row["guess"] == json.loads(json.dumps(answer.to_dict()))
    assert row["nearest"][0]["scores"] == {"cosine": 0.5123}
    assert list(Reply((answer,), (hit,)).to_dict()) == ["found", "calibrated", "answers", "respelt"]
