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
def two(tmp_path: Path, fitted: Path, fitted_reader: Path) -> Iterator[httpx.Client]:
    for name in "ab":
        index_documents(tmp_path / name, {"id": name, "text": TEXT}, settings=Settings(str(fitted)))
    with served(open_collections({name: tmp_path / name for name in "ab"}, reader=fitted_reader)) as client:
        yield client


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
        {"verdict": "wrong", "end": None},
        {"verdict": "none", "document_id": None, "end": None},
        {"document_id": None},
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


def _correct(client: httpx.Client, name: str, word: str, **keys: object) -> httpx.Response:
    (document,) = client.get("/v1/documents", params={"collection": name}).json()["documents"]
    place = {"document_id": document["id"], "start": TEXT.index(word), "end": TEXT.index(word) + len(word)}
    return client.post("/v1/marks", json={"question": "What does the queen lay?", "verdict": "corrected", **place, **keys})


def _marked(client: httpx.Client) -> list[tuple[str, str]]:
    return [(mark["collection"], *mark["answers"]) for mark in client.get("/v1/marks").json()["marks"]]


def test_of_the_collections_that_were_asked_one_has_a_mark_of_a_question(two: httpx.Client) -> None:
    _correct(two, "a", "eggs")
    _correct(two, "b", "flowers")  # all were asked
    assert _marked(two) == [("b", "flowers")]
    _correct(two, "a", "eggs", collection="a")  # a alone was asked
    assert _marked(two) == [("a", "eggs"), ("b", "flowers")]
    _correct(two, "b", "eggs", collection="b", asked=["a", "b"])
    assert _marked(two) == [("b", "eggs")]
    assert _correct(two, "b", "eggs", asked=["c"]).status_code == 404
    _correct(two, "a", "eggs", collection="a")
    none = two.post("/v1/marks", json={"question": "what does the queen lay", "verdict": "none", "asked": ["b"]}).json()
    assert (none["collection"], _marked(two)) == ("b", [("a", "eggs"), ("b",)])


def test_a_mark_of_one_collection_is_removed_alone(two: httpx.Client) -> None:
    mark = _correct(two, "a", "eggs", collection="a").json()
    _correct(two, "b", "eggs", collection="b")
    address = f"/v1/marks/{mark['id']}"
    assert two.delete(address, params={"collection": "b"}).status_code == 204
    assert _marked(two) == [("a", "eggs")]
    assert two.delete(address, params={"collection": "b"}).status_code == 404
    assert two.delete(address, params={"collection": "c"}).status_code == 404
    assert (two.delete(address).status_code, _marked(two)) == (204, [])


def test_of_a_damaged_file_the_log_alone_says_where_it_is(
    hive: httpx.Client, kb: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (kb / "marks.jsonl").write_text("{oops\n")
    mark = {"question": "Who pays?", "verdict": "none"}
    address = f"/v1/marks/{'0' * 16}"
    for response, done in (
        (hive.get("/v1/marks"), "read"),
        (hive.post("/v1/marks", json=mark), "changed"),
        (hive.delete(address), "changed"),
    ):
        assert response.status_code == 503
        assert response.json()["detail"] == f"the marks of kb cannot be {done}; the server's log says where"
    assert str(kb / "marks.jsonl") in caplog.text
