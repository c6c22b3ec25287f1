from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oreqa.answering.block_scores import HEADING, LISTED, LOWEST_SELECTION, asks_for_block, heading_cosines, scored_blocks
from oreqa.answering.combining import Combination, ScoredSpan
from oreqa.core import Hit, Passage, Sentence, Span
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.reader.blocks import TokenOdds
from oreqa.text.sentences import split_sentences


def hit_of(number: int, text: str, heading: str = "") -> Hit:
    """A hit of a document that is one passage."""
    sentences = tuple(Sentence(text[a:b], a, b) for a, b in split_sentences(text))
    passage = Passage(str(number), "", heading, text, 0, len(text), sentences)
    return Hit(0.2, passage, sentences[0], number, number, {})


def odds_of(hit: Hit, likely: str = "") -> TokenOdds:
    """Odds by which a text of a passage is likely, and the rest is not; a token is a character."""
    text = hit.passage.text
    offsets = np.stack([np.arange(len(text)), np.arange(1, len(text) + 1)], axis=1).astype(np.int32)
    log_odds = np.full(len(text), -4, np.float32)
    log_odds[text.index(likely) :][: len(likely)] = 2
    return TokenOdds(offsets, log_odds)


def span_of(number: int, text: str) -> ScoredSpan:
    return ScoredSpan(Span(text, 0, 3, number, 0.0, {}), 9.0, {"span": -0.1, "selection": -0.7, "retrieval": 0.2})


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("How do I start it?", True),
        ("The disk is full; how can I free some space?", True),
        ("why is it slow", True),
        ("What are the steps of the installation?", True),
        ("Which two mailing lists are there?", True),
        ("What is secure boot?", True),
        ("In which cases does it wait?", True),
        ("Under what conditions is a vote held?", True),
        ("What do I have to do to add a user?", True),
        ("The disk is full, what do I do?", True),
        ("What is needed to build it?", True),
        ("Tell me how to change the port.", True),
        ("Could you explain what a slot is for?", True),
        ("List the supported formats", True),
        ("Show me an example of a hook.", True),
        ("What's the difference between a hard link and a soft one?", True),
        ("What is the best way to copy it?", True),
        ("What is a logical replication slot?", True),
        ("Is there a way to mute it?", True),
        ("How has it changed?", True),
        ("Can I restrict access by address?", True),
        ("Is it risky to turn it on?", True),
        ("Which kind of files does it read?", True),
        ("Can I choose it or not?", True),
        ("Is a bee an animal or an insect?", False),
        ("Is there an option to turn it off?", False),
        ("Can you tell me the default port?", False),
        ("Does anyone know the default port?", False),
        ("What is the process called that makes sugar?", False),
        ("What is the highest point of Peru?", False),
        ("What is a pub licensed to sell?", False),
        ("Who lists the prices?", False),
        ("How many hearts does an octopus have?", False),
        ("How urban is Ohio in percent?", False),
        ("Who described how it was built?", False),
        ("What is the default port?", False),
        ("Which class is it?", False),
        ("Which version of gnutls does it need?", False),
        ("When was it built?", False),
    ],
)
def test_questions_that_a_block_answers(question: str, whole: bool) -> None:
    assert asks_for_block(question) is whole


def test_blocks_compete_by_their_likeliest_sentence() -> None:
    hits = [hit_of(0, "Bees dance. They sting."), hit_of(1, "Birds fly. They sing.")]
    odds = [odds_of(hits[0]), odds_of(hits[1], "They sing.")]
    spans = [span_of(number, text) for number, text in ((0, "Bee"), (1, "Bir"), (1, "ird"))]
    weights = Combination(selection=1.0, retrieval=8.0)
    best, other = scored_blocks("how do they sing", spans, hits, odds, np.zeros(2), weights)
    assert (best.span.text, other.span.text) == ("Bir", "Bee")
    assert best.score == pytest.approx(np.log(1 / (1 + np.exp(-2))) - 0.7 + 8 * 0.2, abs=1e-5)
    assert best.scores["span"] == pytest.approx(np.log(1 / (1 + np.exp(-2))), abs=1e-5)
    assert other.scores["span"] == pytest.approx(np.log(1 / (1 + np.exp(4))), abs=1e-5)


def test_a_passage_counts_at_least_so_much() -> None:
    hits = [hit_of(0, "Bees dance.")]
    unlikely = replace(span_of(0, "Bees"), scores={"span": -0.1, "selection": -9.0, "retrieval": 0.2})
    (scored,) = scored_blocks("how", [unlikely], hits, [odds_of(hits[0])], np.zeros(1), Combination())
    assert scored.score == pytest.approx(scored.scores["span"] + LOWEST_SELECTION + 0.2)
    assert scored.scores["selection"] == -9.0


def test_a_question_for_several_things_prefers_the_block_that_is_a_list() -> None:
    hits = [hit_of(0, "Bees dance. They sting."), hit_of(1, "They can:\n- sing.\n- fly.")]
    odds, spans = [odds_of(hits[0], "sting."), odds_of(hits[1], "fly.")], [span_of(0, "sting"), span_of(1, "fly")]
    for question, added in (("what are the things that they can do", LISTED), ("how do they fly", 0.0)):
        scored = scored_blocks(question, spans, hits, odds, np.zeros(2), Combination())
        assert {block.span.text: block.scores["structure"] for block in scored} == {"sting": 0.0, "fly": added}
    hits[1] = hit_of(1, "There are:\n\nsong\nSinging of a bird.\n\nfly\nFlying of one.\n\nSo it is.")
    scored = scored_blocks(
        "what are the things", spans, hits, [odds[0], odds_of(hits[1], "Flying")], np.zeros(2), Combination()
    )
    assert {block.scores["structure"] for block in scored} == {0.0}


def test_a_block_below_the_heading_of_the_question_comes_first() -> None:
    hits = [hit_of(0, "Bees dance."), hit_of(1, "Bees dance.")]
    spans = [span_of(0, "first"), span_of(1, "second")]
    scored = scored_blocks("how do they", spans, hits, list(map(odds_of, hits)), np.array([0.1, 0.5]), Combination())
    assert [block.span.text for block in scored] == ["second", "first"]
    assert scored[0].score - scored[1].score == pytest.approx(HEADING * 0.4)


def test_cosines_of_headings(fitted: Path) -> None:
    encoder = Encoder(fitted)
    hits = [hit_of(0, "Bees dance.", "Three hearts"), hit_of(1, "Bees dance."), hit_of(2, "Birds.", "Three hearts")]
    question, heading = encoder.encode(["who has hearts", "Three hearts"])
    cosine = pytest.approx(float(question @ heading), abs=1e-5)
    assert heading_cosines(encoder, "who has hearts", hits).tolist() == [cosine, 0.0, cosine]
    assert heading_cosines(encoder, "who has hearts", hits[1:2]).tolist() == [0.0]
