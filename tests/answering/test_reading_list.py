from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from oreqa.answering import Answerer
from oreqa.answering.reading_list import (
    IDENTIFIER_TOP_K,
    LETTER_TOP_K,
    RERANKED_PASSAGES,
    hits_to_read,
    hits_with_names,
    searched_hits,
)
from oreqa.answering.reranking import MAX_LOG_ODDS, READER_WEIGHT, reader_ranked
from oreqa.core import Document, Hit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.reader.reader import Reader


def hits_of(*texts: str, step: float = 0.01) -> list[Hit]:
    passages = [paragraph_passage(Document(str(number), "", text)) for number, text in enumerate(texts)]
    return [Hit(1.0 - step * n, passage, passage.sentences[0], n, n, {}) for n, passage in enumerate(passages)]


ANIMALS = ("a fox runs", "it eats a bone", "bees dance. they sting", "a crow sings", "the fox sleeps", "a bone is old")


def test_the_entry_with_the_whole_name_is_read_first() -> None:
    texts = ("After --export the keys are there.", "--export-ssh-key\nWrite one, as --export does.", "--export\nWrite them.")
    passages = [paragraph_passage(Document(str(number), "", text)) for number, text in enumerate(texts)]
    hits = [Hit(1.0 - n, passage, passage.sentences[0], n, n, {}) for n, passage in enumerate(passages)]
    assert [hit.passage_id for hit in hits_with_names("What does --export do?", hits)] == [2, 0, 1]
    assert [hit.passage_id for hit in hits_with_names("What does --export-ssh-key do?", hits)] == [1]
    assert [hit.passage_id for hit in hits_with_names("Which keys are there?", hits)] == [0, 1, 2]


def test_an_option_that_the_named_program_lacks_is_not_read_elsewhere() -> None:
    texts = {"man/rsync.1.gz": "--delete\nDelete files.", "man/wget.1.gz": "--delete-after\nDelete each file. We delete it."}
    passages = [paragraph_passage(Document(key, "", text)) for key, text in texts.items()]
    hits = [Hit(1.0 - n, passage, passage.sentences[0], n, n, {}) for n, passage in enumerate(passages)]
    assert [hit.passage_id for hit in hits_with_names("What does --delete do?", hits)] == [0]
    assert hits_with_names("What does --delete do in wget?", hits) == []
    assert [hit.passage_id for hit in hits_with_names("What does wget --delete-after do?", hits)] == [1]


def test_what_is_named_is_looked_for_among_many_hits() -> None:
    assert searched_hits(["What does reload do?", "Who?"], 5) == searched_hits(["Is -shortest new?"], 5) == IDENTIFIER_TOP_K
    assert searched_hits(["What does -P do?"], 5) == LETTER_TOP_K > IDENTIFIER_TOP_K
    assert searched_hits(["Who reloads the page?"], 5) == 5
    assert [searched_hits(["Who reloads the page?"], depth, reranked=True) for depth in (5, 12)] == [RERANKED_PASSAGES, 12]


@pytest.mark.parametrize("step", [0.0, 0.01, 10.0])
def test_a_reader_ranks_by_the_search_and_its_own_log_odds(tiny_reader: Path, step: float) -> None:
    reader, hits = Reader(tiny_reader), hits_of(*ANIMALS, "!", step=step)
    (ranked,) = reader_ranked(reader, ["who eats a bone"], [hits])
    scores = []
    for hit in hits:
        spans = reader.read("who eats a bone", [("", hit.passage.text)], k=1)
        odds = spans[0].scores["passage_logit"] if spans else -MAX_LOG_ODDS
        scores.append(hit.score + READER_WEIGHT * float(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)))
    assert sorted(hit.passage_id for hit in ranked) == list(range(len(hits)))
    assert [scores[hit.passage_id] for hit in ranked] == pytest.approx(sorted(scores, reverse=True), abs=1e-4)
    assert [hit.score for hit in sorted(ranked, key=lambda hit: hit.passage_id)] == [hit.score for hit in hits]
    assert step != 10.0 or ranked == hits  # the search decides if it is far apart
    assert reader_ranked(reader, [], []) == []


def test_the_best_hits_by_the_reader_are_read(tiny_reader: Path) -> None:
    reader, hits = Reader(tiny_reader), hits_of(*(f"{ANIMALS[n % 6]} {n}" for n in range(RERANKED_PASSAGES + 10)), step=0.0)
    texts = ["who eats a bone", "who eats"]
    chosen = hits_to_read(texts, [hits, hits[:4]], 5, reader)
    (ranked,) = reader_ranked(reader, texts[:1], [hits[:RERANKED_PASSAGES]])
    assert chosen == [ranked[:5], hits[:4]]  # few hits are all read, in the order of the search
    assert hits_to_read(texts, [hits, hits[:4]], 5) == [hits[:5], hits[:4]]
    (every,) = hits_to_read(texts[:1], [hits], RERANKED_PASSAGES, reader)
    assert every == hits[:RERANKED_PASSAGES]  # all of them are read


def test_entries_on_what_is_named_stay_first(tiny_reader: Path) -> None:
    reader, others = Reader(tiny_reader), [f"See --export, too: {animal}." for animal in ANIMALS]
    hits = hits_of(*others, "--export\nWrite them.", step=0.0)
    for depth in (1, 3):
        (chosen,) = hits_to_read(["What does --export do?"], [hits], depth, reader)
        assert [hit.passage_id for hit in chosen][:1] == [len(others)]
        assert len(chosen) == depth


def test_the_reply_and_its_explanation_name_what_was_read(
    tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oreqa.answering.reranking.READER_WEIGHT", 100.0)  # the reader decides
    for number in range(12):
        (tmp_path / f"{number}.txt").write_text(f"{ANIMALS[number % 6]}. The fox {number} eats a bone, too.")
    index_files(tmp_path / "kb", sorted(tmp_path.glob("*.txt")), Settings(str(tiny)))
    with Index.open(tmp_path / "kb") as index:
        reader = Reader(tiny_reader)
        answerer = Answerer(index, reader, passage_reranker=reader, passages=3)
        reply, explanation = answerer.reply("Who eats a bone?", threshold=0), answerer.explain("Who eats a bone?")
        hits = index.search("Who eats a bone?", RERANKED_PASSAGES, mode="hybrid", unit="passage")
        assert list(reply.hits) == reader_ranked(reader, ["Who eats a bone?"], [hits])[0][:3]
        read = [hit.hit.passage_id for hit in explanation.hits if hit.was_read]
        assert sorted(read) == sorted(hit.passage_id for hit in reply.hits)
        ranks = [hit.rank for hit in explanation.hits if hit.was_read]
        lost = next(hit for hit in explanation.hits if hit.rank < max(ranks) and not hit.was_read)
        number = next(word for word in lost.hit.passage.text.split() if word.isdigit())
        traced = answerer.explain("Who eats a bone?", number)
        assert (traced.stage, "but the smaller reader ranked 3 others before it, to read" in traced.reason) == (
            "reader",
            True,
        )
        keys = {hit.passage.document_key for hit in reply.hits}
        assert {answer.passage.document_key for answer in reply.answers} <= keys
