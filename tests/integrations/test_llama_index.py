"""The retriever in the released LlamaIndex."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode

from oreqa.errors import IndexStateError, InputError
from oreqa.index.search import Index
from oreqa.integrations.llama_index import OreqaRetriever

QUESTION = "How many hearts does an octopus have?"


@pytest.fixture
def retriever(kb: Path) -> OreqaRetriever:
    return OreqaRetriever(kb, similarity_top_k=2, mode="sparse")


def test_nodes_say_where_they_stand(retriever: OreqaRetriever) -> None:
    best, second = retriever.retrieve(QUESTION)
    assert best.score > second.score > 0
    node = best.node
    assert (node.text, node.start_char_idx, node.end_char_idx) == (
        "It lives in the sea. An octopus has three hearts.", 0, 49,
    )  # fmt: skip
    assert node.ref_doc_id == "octopus.pdf"
    assert node.node_id == "octopus.pdf#0-49"
    assert node.metadata["sentence"] == "An octopus has three hearts."
    assert (node.metadata["page"], node.metadata["line"], node.metadata["kind"]) == (3, 12, "animal")
    assert "sentence" not in node.get_content(MetadataMode.LLM)


def test_where_restricts_the_documents(kb: Path) -> None:
    nodes = OreqaRetriever(kb, mode="sparse", where={"title": "Bees"}).retrieve(QUESTION)
    assert [node.node.ref_doc_id for node in nodes] == ["bees.txt"]
    nodes = OreqaRetriever(str(kb)).retrieve(QUESTION)
    assert {node.node.ref_doc_id for node in nodes} == {"octopus.pdf", "bees.txt", "tent.txt"}


def test_a_query_engine_answers_from_the_nodes(retriever: OreqaRetriever) -> None:
    reply = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUESTION)
    assert "An octopus has three hearts." in str(reply)
    assert [node.node.ref_doc_id for node in reply.source_nodes] == ["octopus.pdf", "bees.txt"]


def test_asynchronous_questions_do_not_block_the_loop(retriever: OreqaRetriever, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, search = threading.Event(), Index.search

    def waiting(*arguments: Any, **options: Any) -> Any:
        assert go_on.wait(20), "the loop stood still"
        return search(*arguments, **options)

    async def ask() -> list[Any]:
        task = asyncio.create_task(retriever.aretrieve(QUESTION))
        await asyncio.sleep(0.05)
        go_on.set()  # the search waits for what only a running loop can do
        return await task

    monkeypatch.setattr(Index, "search", waiting)
    assert len(asyncio.run(ask())) == 2


def test_wrong_values_are_refused_at_once(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="similarity_top_k is 0; it must be a whole number from 1"):
        OreqaRetriever(kb, similarity_top_k=0)
    with pytest.raises(InputError, match="choose hybrid, dense, sparse"):
        OreqaRetriever(kb, mode="keywords")
    with pytest.raises(TypeError, match="top_k"):
        OreqaRetriever(kb, top_k=3)
    with pytest.raises(IndexStateError, match="nowhere"):
        OreqaRetriever(tmp_path / "nowhere").retrieve(QUESTION)
