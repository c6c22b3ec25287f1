from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.datasets.marks import read_marks
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.collections import open_collections
from oreqa.server.settings import Access

TEXT = "Bees dance to tell where flowers are. The queen lays eggs."


@pytest.fixture
def kb(tmp_path: Path, fitted: Path) -> Path:
    index_documents(tmp_path / "kb", {"id": "bees", "title": "Bees", "text": TEXT}, settings=Settings(str(fitted)))
    return tmp_path / "kb"


@pytest.fixture
def hive(kb: Path, fitted_reader: Path) -> Iterator[httpx.Client]:
    with served(open_collections({"kb": kb}, reader=fitted_reader)) as client:
        yield client


def test_a_right_answer_is_kept_with_its_sentence_and_passage(hive: httpx.Client, kb: Path) -> None:
    (document,) = hive.get("/v1/documents").json()["documents"]
    start = TEXT.index("eggs")
    body = {
        "question": "What does the queen lay?",
        "verdict": "right",
        "document_id": document["id"],
        "start": start,
        "end": start + 4,
    }
    response = hive.post("/v1/marks", json={**body, "given": "eggs"})
    assert response.status_code == 200, response.text
    (mark,) = read_marks(kb)
    assert (mark.answers, mark.answer, mark.context, mark.title) == (("eggs",), "The queen lays eggs.", TEXT, "Bees")
    assert mark.context[mark.start :].startswith("eggs")
    assert (mark.document, mark.verdict, mark.given_answer) == ("bees", "right", "eggs")
    assert hive.get("/v1/marks").json()["marks"] == [response.json()]
    assert hive.delete(f"/v1/marks/{mark.id}").status_code == 204
    assert hive.delete(f"/v1/marks/{mark.id}").status_code == 404
    assert read_marks(kb) == []


def test_no_answer_and_a_wrong_one(hive: httpx.Client, kb: Path) -> None:
    assert hive.post("/v1/marks", json={"question": "Who pays?", "verdict": "none"}).json()["answers"] == []
    assert hive.post("/v1/marks", json={"question": "Who dances?", "verdict": "wrong"}).status_code == 200
    assert [mark.question for mark in read_marks(kb)] == ["Who pays?"]


def test_a_mark_that_names_no_text_is_refused(hive: httpx.Client, kb: Path) -> None:
    (document,) = hive.get("/v1/documents").json()["documents"]
    whole = {"question": "Who?", "verdict": "right", "document_id": document["id"], "start": 0, "end": 4}
    for wrong in (
        {"verdict": "none"},
        {"end": None},
        {"end": 0},
        {"start": 3, "end": 1},
        {"end": 10**6},
        {"start": 4, "end": 5},
    ):
        response = hive.post("/v1/marks", json={**whole, **wrong})
        assert (response.status_code, response.headers["content-type"]) == (400, "application/problem+json"), wrong
    assert hive.post("/v1/marks", json={**whole, "document_id": "0" * 16}).status_code == 404
    assert hive.post("/v1/marks", json={**whole, "verdict": "maybe"}).status_code == 422
    assert read_marks(kb) == []


def test_a_read_only_server_takes_no_marks(kb: Path, fitted_reader: Path) -> None:
    with served(open_collections({"kb": kb}, reader=fitted_reader), Access(frozenset(), read_only=True)) as client:
        response = client.post("/v1/marks", json={"question": "Who pays?", "verdict": "none"})
        assert (response.status_code, "--read-only" in response.json()["detail"]) == (403, True)
        assert client.delete(f"/v1/marks/{'0' * 16}").status_code == 403
        assert client.get("/v1/marks").status_code == 200
    assert not (kb / "marks.jsonl").exists()


def test_an_equal_question_is_answered_as_it_was_corrected(hive: httpx.Client, kb: Path) -> None:
    (document,) = hive.get("/v1/documents").json()["documents"]
    start = TEXT.index("eggs")
    place = {"document_id": document["id"], "start": start, "end": start + 4}
    body = {"question": "What does the queen lay?", "verdict": "corrected", "given": "flowers", **place}
    assert hive.post("/v1/marks", json=body).status_code == 200
    reply = hive.post("/v1/ask", json={"question": "what does the Queen lay", "threshold": 1}).json()
    (answer,) = reply["answers"]
    assert (reply["found"], answer["text"], answer["certainty"], answer["confidence"]) == (True, "eggs", "set by you", None)
    assert answer["url"].startswith(f"/d/{document['id']}#c={start}-{start + 4}")
