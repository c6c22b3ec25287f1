"""The retriever in the released LangChain."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from oreqa.errors import IndexStateError, InputError
from oreqa.index.search import Index
from oreqa.integrations.langchain import OreqaRetriever

QUESTION = "How many hearts does an octopus have?"


@pytest.fixture
def retriever(kb: Path) -> OreqaRetriever:
    return OreqaRetriever(index=kb, k=2, mode="sparse")


def test_documents_say_where_they_stand(retriever: OreqaRetriever) -> None:
    document = retriever.invoke(QUESTION)[0]
    assert document.page_content == "It lives in the sea. An octopus has three hearts."
    score = document.metadata.pop("score")
    assert score > 0
    assert document.metadata == {
        "key": "octopus.pdf", "title": "Octopus", "heading": "", "page": 3, "line": 12, "start": 0, "end": 49,
        "sentence": "An octopus has three hearts.", "sentence_start": 21, "sentence_end": 49,
        "kind": "animal", "source": "octopus.pdf",
    }  # fmt: skip


def test_k_and_where_count_in_the_retriever_and_for_one_question(retriever: OreqaRetriever, kb: Path) -> None:
    def keys(of: OreqaRetriever, **changes: Any) -> list[str]:
        return [document.metadata["key"] for document in of.invoke(QUESTION, **changes)]

    assert keys(retriever) == ["octopus.pdf", "bees.txt"]
    assert keys(retriever, k=1) == ["octopus.pdf"]
    assert keys(retriever, where={"title": "Bees"}) == ["bees.txt"]
    assert asyncio.run(retriever.ainvoke(QUESTION, k=1, where={"title": "Bees"}))[0].metadata["key"] == "bees.txt"
    assert keys(OreqaRetriever(index=str(kb), mode="sparse", where={"title": "Bees"})) == ["bees.txt"]
    assert set(keys(OreqaRetriever(index=str(kb)))) == {"octopus.pdf", "bees.txt", "tent.txt"}
    retriever.k = 1
    assert keys(retriever) == ["octopus.pdf"]


def test_an_open_index_is_taken(kb: Path) -> None:
    with Index.open(kb) as index:
        assert OreqaRetriever(index=index, k=1, mode="sparse").invoke(QUESTION)[0].metadata["key"] == "octopus.pdf"


def test_it_is_a_part_of_chains(retriever: OreqaRetriever) -> None:
    chain = retriever | RunnableLambda(lambda documents: documents[0].metadata["sentence"])
    assert chain.invoke(QUESTION) == "An octopus has three hearts."
    assert chain.batch([QUESTION, "Do bees dance?"]) == ["An octopus has three hearts.", "Bees dance."]


def test_asynchronous_questions_do_not_block_the_loop(retriever: OreqaRetriever, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, search = threading.Event(), Index.search

    def waiting(*arguments: Any, **options: Any) -> Any:
        assert go_on.wait(20), "the loop stood still"
        return search(*arguments, **options)

    async def ask() -> list[Any]:
        task = asyncio.create_task(retriever.ainvoke(QUESTION))
        await asyncio.sleep(0.05)
        go_on.set()  # the search waits for what only a running loop can do
        return await task

    monkeypatch.setattr(Index, "search", waiting)
    assert len(asyncio.run(ask())) == 2


def test_wrong_values_are_refused_at_once(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="k is 0; it must be a whole number from 1"):
        OreqaRetriever(index=kb, k=0)
    with pytest.raises(InputError, match="an empty list of values"):
        OreqaRetriever(index=kb, where={"kind": []})
    with pytest.raises(ValidationError, match="top_k"):
        OreqaRetriever(index=kb, top_k=3)
    with pytest.raises(TypeError, match="top_k"):
        OreqaRetriever(index=kb).invoke(QUESTION, top_k=3)
    with pytest.raises(IndexStateError, match="nowhere"):
        OreqaRetriever(index=tmp_path / "nowhere").invoke(QUESTION)
