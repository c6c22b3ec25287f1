"""One index, one answerer and their models, shared by several threads, also while the index is updated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from oreqa.answering import Answerer
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.reader.reader import Reader

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "ledge")
THREADS = 8


@pytest.fixture
def folder(tmp_path: Path, tiny: Path) -> Path:
    texts = [f"The {word} stands in row {row}. Nothing else grows there." for row in range(3) for word in WORDS]
    index_documents(tmp_path / "kb", texts, Settings(str(tiny)))
    return tmp_path / "kb"


def sentences(index: Index, word: str) -> list[str]:
    hits = index.search(f"Where is the {word}?", 3, mode="sparse", where={"path": "text-*"})
    return [hit.sentence.text for hit in hits if word in hit.passage.text]


def test_searches_of_many_threads_are_those_of_one(folder: Path) -> None:
    with Index.open(folder) as index:
        expected = {word: sentences(index, word) for word in WORDS}
        assert all(len(texts) == 3 for texts in expected.values())
        with ThreadPoolExecutor(THREADS) as pool:
            questions = WORDS * 40
            results = pool.map(lambda word: sentences(index, word), questions)
            for word, texts in zip(questions, results, strict=True):
                assert texts == expected[word]


@pytest.mark.parametrize("read", [False, True])
def test_answers_of_many_threads_are_those_of_one(folder: Path, tiny_reader: Path, read: bool) -> None:
    answerer = Answerer(Index.open(folder), Reader(tiny_reader) if read else None)
    questions = [f"Where does the {word} stand?" for word in WORDS]

    def answers(question: str) -> list[tuple[str, str]]:
        return [(answer.text, answer.sentence.text) for answer in answerer.ask(question, k=2, threshold=0)]

    expected = [answers(question) for question in questions]
    assert all(expected)
    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(answers, questions * 5)) == expected * 5


@pytest.mark.slow
def test_every_search_sees_one_state_while_another_thread_updates(folder: Path) -> None:
    """Each update replaces both documents: a search that saw two states would find two different numbers."""
    done = threading.Event()

    def update(number: int) -> None:
        text = f"The zebra counts to {number}."
        index_documents(folder, [{"id": name, "text": text} for name in ("first", "second")])

    update(0)
    seen: set[str] = set()

    def watch(index: Index) -> None:
        while not done.is_set():
            hits = index.search("zebra", 2, mode="sparse")
            assert len({hit.sentence.text for hit in hits}) == 1
            seen.add(hits[0].sentence.text)

    with Index.open(folder) as index, ThreadPoolExecutor(4) as pool:
        watching = [pool.submit(watch, index) for _ in range(4)]
        try:
            for number in range(1, 6):
                update(number)
        finally:
            done.set()
        for future in watching:
            future.result()
        assert index.search("zebra", 1, mode="sparse")[0].sentence.text == "The zebra counts to 5."
    assert len(seen) > 1
