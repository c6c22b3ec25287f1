"""How answers came about, over HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.answering.answerer import Answerer
from oreqa.answering.replies import explanation_json
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.collections import ServedCollection, open_collections
from oreqa.server.problems import safe_values

ASKED = "How many hearts does an octopus have?"


def test_an_explanation_is_that_of_the_command_line_with_links(
    client: httpx.Client, collections: dict[str, ServedCollection]
) -> None:
    row = client.post("/v1/explain", json={"question": ASKED, "expected": "eight"}).json()
    expected = safe_values(explanation_json(collections["shelf"].answerer.explain(ASKED, "eight")))
    for name in ("stage", "reason", "threshold", "log_odds", "absent_words", "unread_words", "respelt"):
        assert row[name] == expected[name], name
    for name in ("answers", "hits"):
        assert row[name]
        for each, plain in zip(row[name], expected[name], strict=True):
            assert {key: each[key] for key in plain} == plain
            assert each["url"].startswith("/d/")
            assert (each["collection"], each["generation"]) == ("shelf", 1)


def test_conditions_and_what_cannot_be_explained(client: httpx.Client) -> None:
    hits = client.post("/v1/explain", json={"question": ASKED, "where": {"kind": "shoe"}}).json()["hits"]
    assert {hit["fields"]["kind"] for hit in hits} == {"shoe"}
    for body, status in (({"collection": "none"}, 404), ({"expected": ""}, 422), ({"where": {"colour": "red"}}, 400)):
        assert client.post("/v1/explain", json={"question": ASKED, **body}).status_code == status, body


def test_an_explanation_names_the_state_that_it_is_of_though_the_index_was_replaced_meanwhile(
    tmp_path: Path, fitted: Path, fitted_reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_documents(tmp_path / "kb", {"id": "a", "text": "State 1 holds."}, settings=Settings(str(fitted)))
    explain = Answerer.explain

    def explain_and_replace(self: Answerer, *arguments: str, **options: object) -> object:
        explanation = explain(self, *arguments, **options)  # type: ignore[arg-type]
        index_documents(tmp_path / "kb", {"id": "a", "text": "State 2 holds."})
        return explanation

    monkeypatch.setattr(Answerer, "explain", explain_and_replace)
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:
        (hit,) = client.post("/v1/explain", json={"question": "Which state holds?"}).json()["hits"]
        assert (hit["passage"]["text"], hit["generation"]) == ("State 1 holds.", 1)
