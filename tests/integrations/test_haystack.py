"""The components in a pipeline of the released Haystack."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from oreqa.errors import IndexStateError, InputError
from oreqa.integrations.haystack import OreqaRetriever

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
    asked = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    prompt = loaded.run(asked)["prompt"]["prompt"]
    assert prompt == pipeline.run(asked)["prompt"]["prompt"]
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
