from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.answer import Answer, Computation
from oreqa.answering.reply import Reply
from oreqa.core import Hit, Passage, Sentence
from oreqa.defaults import QUALITY_READERS
from oreqa.errors import IndexStateError, InputError
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.collections import chosen, close_collections, merged, open_collections
from oreqa.server.problems import RefusedError

SENTENCE = Sentence("It is so.", 0, 9)
PASSAGE = Passage("a.md", "", "", SENTENCE.text, 0, 9, (SENTENCE,))


def answer(confidence: float | None, computed: bool = False) -> Answer:
    computation = Computation("count", "", (), 3) if computed else None
    return Answer("so", 6, 8, confidence, SENTENCE, PASSAGE, 0.0, {}, computation=computation)


def hit(score: float) -> Hit:
    return Hit(score, PASSAGE, SENTENCE, int(score * 10), 0, {})


def test_answers_come_by_confidence_with_the_state_they_are_of() -> None:
    replies = {
        "a": Reply((answer(0.9), answer(0.3)), (hit(1),), generation=4),
        "b": Reply((answer(None, computed=True), answer(0.5)), (hit(2),), generation=7),
        "c": Reply((answer(None),), (), calibrated=False, generation=1),
        "d": Reply((), (hit(3),), best=answer(0.2), generation=1),
    }
    both = merged(replies, 9)
    assert [(each.confidence, name, state) for each, name, state in both.answers] == [
        (None, "b", 7), (0.9, "a", 4), (0.5, "b", 7), (0.3, "a", 4), (None, "c", 1),
    ]  # fmt: skip
    assert (both.nearest, both.guess) == ([], None)
    assert len(merged(replies, 2).answers) == 2


def test_without_answers_the_likeliest_guess_and_the_best_passages_come() -> None:
    replies = {
        "a": Reply((), (hit(1), hit(0.5)), best=answer(0.1)),
        "b": Reply((), (hit(2),), best=answer(0.2)),
        "c": Reply((), (hit(0.1),), best=answer(0.01)),  # too unlikely even for a guess
    }
    both = merged(replies, 3)
    assert both.guess is not None
    assert (both.guess[0].confidence, both.guess[1]) == (0.2, "b")
    assert [(near.score, name) for near, name, _ in both.nearest] == [(2, "b"), (1, "a")]
    assert merged({"c": replies["c"]}, 3).guess is None


def test_one_collection_keeps_the_order_of_its_reply() -> None:
    reply = Reply((answer(0.5), answer(0.9)), ())  # a newer version of a document comes first
    assert [each.confidence for each, _, _ in merged({"a": reply}, 3).answers] == [0.5, 0.9]


def test_collections_are_chosen_by_name() -> None:
    collections = {"a": object(), "b": object()}
    assert chosen(collections, None) == list(collections.values())  # type: ignore[arg-type, comparison-overlap]
    assert chosen(collections, "b") == [collections["b"]]  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(RefusedError, match="there are: a, b"):
        chosen(collections, "c")  # type: ignore[arg-type]


def test_each_index_is_read_with_its_own_quality(
    tmp_path: Path, tiny: Path, tiny_reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OREQA_QUALITY", raising=False)
    monkeypatch.setitem(QUALITY_READERS, "best", str(tiny_reader))  # type: ignore[arg-type]
    monkeypatch.setattr("oreqa.answering.choices.best_is_here", lambda: True)
    monkeypatch.setattr("oreqa.answering.choices.BEST_READER", str(tiny_reader))
    folders = {name: tmp_path / name for name in "abc"}
    for name, quality in (("a", "fast"), ("b", "best"), ("c", "best")):
        index_documents(folders[name], "Bees dance.", settings=Settings(str(tiny), quality=quality))  # type: ignore[arg-type]
    opened = open_collections(folders)
    a, b, c = (each.answerer.reader for each in opened.values())
    assert a is not b is c is not None
    assert b.folder.path == tiny_reader
    small = [each.answerer.passage_reranker for each in opened.values()]
    assert small == [None, a, a]  # what best reads is chosen by the reader of fast, loaded once
    close_collections(opened)
    opened = open_collections(folders, quality="fast")
    assert len({id(each.answerer.reader) for each in opened.values()}) == 1
    close_collections(opened)


def test_what_cannot_be_served_is_said_before_the_server_starts(tmp_path: Path, tiny: Path, tiny_reader: Path) -> None:
    index_documents(tmp_path / "kb", "Bees dance.", settings=Settings(str(tiny)))
    with pytest.raises(IndexStateError, match="there is no index here"):
        open_collections({"kb": tmp_path / "kb", "other": tmp_path / "other"}, reader=tiny_reader)
    with pytest.raises(InputError, match="leave --threshold out"):
        open_collections({"kb": tmp_path / "kb"}, reader=tiny_reader, threshold=0.5, at_least=0.9)
    with pytest.raises(InputError, match="calibrat"):
        open_collections({"kb": tmp_path / "kb"}, reader=tiny_reader, threshold=0.5)
    with pytest.raises(InputError, match="promise"):
        open_collections({"kb": tmp_path / "kb"}, reader=tiny_reader, at_least=0.9)
