"""The components in a pipeline of the released Haystack."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder

from oreqa.errors import IndexStateError, InputError
from oreqa.integrations.haystack import OreqaReader, OreqaRetriever

QUESTION = "How many hearts does an octopus have?"


def keys(result: dict[str, Any]) -> list[str]:
    return [document.meta["key"] for document in result["documents"]]


@pytest.fixture
def retriever(kb: Path) -> OreqaRetriever:
    return OreqaRetriever(index=kb, top_k=2, mode="sparse")


def test_documents_say_where_they_stand(retriever: OreqaRetriever) -> None:
    best, second = retriever.run(QUESTION)["documents"]
    assert best.score > second.score > 0
    assert best.content == "It lives in the sea. An octopus has three hearts."
    assert best.meta == {
        "key": "octopus.pdf", "title": "Octopus", "heading": "", "page": 3, "line": 12, "start": 0, "end": 49,
        "sentence": "An octopus has three hearts.", "sentence_start": 21, "sentence_end": 49, "kind": "animal",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"field": "meta.kind", "operator": "==", "value": "animal"}, ["octopus.pdf", "bees.txt"]),
        ({"field": "title", "operator": "in", "value": ["Bees", "Tent"]}, ["bees.txt"]),
        ({"field": "meta.key", "operator": "==", "value": "bees.txt"}, ["bees.txt"]),
        (
            {"operator": "AND", "conditions": [
                {"field": "meta.kind", "operator": "==", "value": "animal"},
                {"field": "meta.title", "operator": "==", "value": "Octopus"},
            ]},
            ["octopus.pdf"],
        ),
        ({}, ["octopus.pdf", "bees.txt"]),
    ],
)  # fmt: skip
def test_filters_restrict_the_documents(
    kb: Path, retriever: OreqaRetriever, filters: dict[str, Any], expected: list[str]
) -> None:
    assert keys(retriever.run(QUESTION, filters=filters)) == expected
    assert keys(OreqaRetriever(kb, mode="sparse", filters=filters).run(QUESTION)) == expected
    assert keys(asyncio.run(retriever.run_async(QUESTION, filters=filters, top_k=1))) == expected[:1]


def test_a_pipeline_runs_and_is_the_same_after_it_was_saved(kb: Path) -> None:
    pipeline = Pipeline()
    filters = {"field": "meta.kind", "operator": "==", "value": "animal"}
    pipeline.add_component("retriever", OreqaRetriever(kb, top_k=1, filters=filters))
    template = "{% for document in documents %}{{ document.meta.sentence }}{% endfor %} {{ question }}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["oreqa.integrations.haystack.*"])
    assert loaded.to_dict() == pipeline.to_dict()
    inputs = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    prompt = loaded.run(inputs)["prompt"]["prompt"]
    assert prompt == pipeline.run(inputs)["prompt"]["prompt"]
    assert prompt.endswith(QUESTION)


def test_wrong_values_are_refused_at_once(kb: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="top_k is 0; it must be a whole number from 1"):
        OreqaRetriever(kb, top_k=0)
    for wrong in (
        {"field": "meta.year", "operator": ">", "value": 3},
        {"operator": "OR", "conditions": [{"field": "meta.kind", "operator": "==", "value": "animal"}]},
        {"kind": "animal"},
    ):
        with pytest.raises(InputError, match="filters of an index are comparisons with == or in"):
            OreqaRetriever(kb, filters=wrong)
    with pytest.raises(IndexStateError, match="nowhere"):
        OreqaRetriever(tmp_path / "nowhere").warm_up()


@pytest.fixture
def reader(tiny_reader: Path) -> OreqaReader:
    return OreqaReader(str(tiny_reader), top_k=3)


DOCUMENTS = [Document(content="An octopus has three hearts."), Document(content=None), Document(content="Bees dance.")]


def test_answers_are_spans_of_their_documents(reader: OreqaReader) -> None:
    answers = reader.run(QUESTION, DOCUMENTS, top_k=50)["answers"]
    assert [answer.score for answer in answers] == sorted((answer.score for answer in answers), reverse=True)
    texts = [answer for answer in answers if answer.data]
    assert {answer.document.id for answer in texts} == {DOCUMENTS[0].id, DOCUMENTS[2].id}
    places = [(answer.document.id, answer.document_offset) for answer in texts]
    for answer, (name, offset) in zip(texts, places, strict=True):
        assert answer.document.content[offset.start : offset.end] == answer.data
        rivals = [other for key, other in places if key == name and other is not offset]
        assert all(other.end <= offset.start or offset.end <= other.start for other in rivals)
    assert [answer.document for answer in answers if answer.data is None] == [None]
    assert sum(answer.score for answer in texts if answer.document is DOCUMENTS[0]) <= 1


def test_what_is_asked_of_a_reader_counts_for_one_run(reader: OreqaReader) -> None:
    assert len(reader.run(QUESTION, DOCUMENTS)["answers"]) == 3
    assert all(answer.data for answer in reader.run(QUESTION, DOCUMENTS, no_answer=False)["answers"])
    assert reader.run(QUESTION, DOCUMENTS, score_threshold=1.0)["answers"] == []
    (nothing,) = reader.run(QUESTION, [])["answers"]
    assert (nothing.data, nothing.score, nothing.query) == (None, 1, QUESTION)
    for wrong, message in (({"top_k": 0}, "top_k is 0"), ({"score_threshold": 2}, "score_threshold is 2")):
        with pytest.raises(InputError, match=message):
            OreqaReader(**wrong)
        with pytest.raises(InputError, match=message):
            reader.run(QUESTION, DOCUMENTS, **wrong)


def test_a_retriever_and_a_reader_make_a_pipeline(kb: Path, tiny_reader: Path) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", OreqaRetriever(kb, top_k=2, mode="sparse"))
    pipeline.add_component("reader", OreqaReader(str(tiny_reader), top_k=1, no_answer=False))
    pipeline.connect("retriever.documents", "reader.documents")
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=["oreqa.integrations.haystack.*"])
    inputs = {"retriever": {"query": QUESTION}, "reader": {"query": QUESTION}}
    (answer,) = loaded.run(inputs)["reader"]["answers"]
    assert answer.document.meta["key"] in ("octopus.pdf", "bees.txt")
