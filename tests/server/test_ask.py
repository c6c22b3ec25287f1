from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.answering.explanation import NOTHING_SEARCHED
from oreqa.answering.replies import reply_json
from oreqa.as_json import document_id
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.collections import ServedCollection, open_collections

QUESTION = "How many hearts does an octopus have?"


def test_an_answer_is_that_of_the_command_line_with_what_names_it(
    client: httpx.Client, collections: dict[str, ServedCollection]
) -> None:
    response = client.post("/v1/ask", json={"question": QUESTION, "k": 2, "threshold": 0})
    assert response.status_code == 200, response.text
    reply = response.json()
    expected = reply_json(QUESTION, collections["shelf"].answerer.reply(QUESTION, 2, threshold=0))
    extra = ("id", "url", "link", "citation", "collection", "generation")
    plain = [{key: value for key, value in answer.items() if key not in extra} for answer in reply["answers"]]
    assert plain == expected["answers"]
    assert len(plain) == 2
    assert {key: reply[key] for key in ("question", "found", "calibrated", "respelt")} == {
        key: expected[key] for key in ("question", "found", "calibrated", "respelt")
    }
    first = reply["answers"][0]
    name, stretch = document_id(first["document"]), f"{first['start']}-{first['end']}"
    assert first["place"]["document_id"] == name
    assert (first["id"], first["url"]) == (f"{name}:{stretch}", f"/d/{name}#c={stretch}")
    assert (first["collection"], first["generation"], reply["generations"]) == ("shelf", 1, {"shelf": 1})


def test_without_an_answer_the_nearest_passages_come(client: httpx.Client) -> None:
    reply = client.post("/v1/ask", json={"question": QUESTION, "threshold": 1}).json()
    assert (reply["found"], reply["answers"]) == (False, [])
    assert 0 < len(reply["nearest"]) <= 3
    assert all(near["url"].startswith("/d/") for near in reply["nearest"])
    assert reply["reason"].startswith("The best guess has ")
    assert reply["reason"].endswith(", and an answer needs 100%.")


def test_conditions_choose_the_documents(client: httpx.Client) -> None:
    body = {"question": "what is it made of?", "threshold": 0, "where": {"kind": ["shoe", "hat"]}}
    answers = client.post("/v1/ask", json=body).json()["answers"]
    assert {answer["fields"]["kind"] for answer in answers} == {"shoe"}
    refusal = client.post("/v1/ask", json={**body, "where": {"colour": "red"}})
    assert (refusal.status_code, refusal.json()["detail"]) == (
        400, "no document has a field 'colour'; fields are: kind, path, title",
    )  # fmt: skip


def test_a_document_is_named_by_its_id_whatever_its_key_holds(client: httpx.Client, shelf: Path) -> None:
    names = {document_id(str(file)): file.name for file in shelf.iterdir()}
    assert any(not name.isprintable() for name in names.values())
    for id, name in names.items():
        if name.endswith("jsonl"):
            continue
        body = {"question": "hearts, bees or an escape", "where": {"document_id": id}, "k": 9}
        hits = client.post("/v1/search", json=body).json()["hits"]
        assert {hit["place"]["document_id"] for hit in hits} == {id}, name
    none = client.post("/v1/search", json={"question": "bees", "where": {"document_id": "x"}}).json()
    assert (none["hits"], none["reason"]) == ([], NOTHING_SEARCHED)
    none = client.post("/v1/search", json={"question": "xylem", "mode": "sparse", "where": {"path": "nowhere"}}).json()
    assert re.fullmatch(r"No document [^.]+ holds a word of the question\. The folders are: .+\.", none["reason"])
    assert "reason" not in client.post("/v1/search", json={"question": "bees"}).json()


def test_a_batch_is_answered_in_its_order(client: httpx.Client) -> None:
    questions = [f"{QUESTION} {n}" for n in range(20)]
    response = client.post("/v1/batch", json={"questions": questions, "k": 1, "threshold": 0})
    assert [reply["question"] for reply in response.json()["replies"]] == questions


def test_a_search(client: httpx.Client, collections: dict[str, ServedCollection]) -> None:
    body = {"question": "hearts", "k": 2, "mode": "sparse", "unit": "passage"}
    ranking = client.post("/v1/search", json=body).json()
    hits = collections["shelf"].index.search("hearts", 2, mode="sparse", unit="passage")
    assert [hit["score"] for hit in ranking["hits"]] == [round(hit.score, 4) for hit in hits]
    assert [hit["rank"] for hit in ranking["hits"]] == list(range(1, len(hits) + 1))
    assert (ranking["mode"], ranking["unit"], ranking["generations"]) == ("sparse", "passage", {"shelf": 1})


@pytest.mark.parametrize(
    ("body", "status", "place"),
    [
        ({"question": ""}, 422, "question"),
        ({"question": "?!"}, 422, "question"),
        ({"question": "x" * 1001}, 422, "question"),
        ({"question": 5}, 422, "question"),
        ({}, 422, "question"),
        ({"question": "x", "k": 0}, 422, "k"),
        ({"question": "x", "k": True}, 422, "k"),
        ({"question": "x", "k": 1.5}, 422, "k"),
        ({"question": "x", "threshold": 2}, 422, "threshold"),
        ({"question": "x", "where": {"a": 1}}, 422, "where"),
        ({"question": "x", "where": {"a": []}}, 422, "where"),
        ({"question": "x", "top": 3}, 422, "top"),
        ([], 422, ""),
    ],
)
def test_a_body_that_is_not_as_it_must_be_is_refused_where_it_is_wrong(
    client: httpx.Client, body: object, status: int, place: str
) -> None:
    response = client.post("/v1/ask", json=body)
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem = response.json()
    assert problem["status"] == status
    assert problem["faults"][0]["where"].startswith(place)


def test_half_of_a_surrogate_pair_and_broken_json_are_refused(client: httpx.Client) -> None:
    headers = {"content-type": "application/json"}
    assert client.post("/v1/ask", content=b'{"question": "a \\ud800 b"}', headers=headers).status_code == 422
    for content in (b'{"question": ', b"\xff\xfe", b""):
        response = client.post("/v1/ask", content=content, headers=headers)
        assert response.status_code in (400, 422), content
        assert response.json()["detail"]


def test_many_clients_get_their_own_answers(client: httpx.Client) -> None:
    def ask(number: int) -> bool:
        question = f"{QUESTION} {number}"
        return client.post("/v1/ask", json={"question": question, "k": 1}).json()["question"] == question

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(48)))


def test_answers_of_several_collections_come_by_confidence_and_urls_name_theirs(
    tmp_path: Path, fitted: Path, fitted_reader: Path
) -> None:
    for name, text in (("one", "An octopus has three hearts."), ("two", "Bees have one heart. A heart beats.")):
        index_documents(tmp_path / name, text, settings=Settings(str(fitted)))
    opened = open_collections({name: tmp_path / name for name in ("one", "two")}, reader=fitted_reader)
    assert opened["one"].index.encoder is opened["two"].index.encoder
    assert opened["one"].answerer.reader is opened["two"].answerer.reader
    with served(opened) as client:
        reply = client.post("/v1/ask", json={"question": "How many hearts?", "k": 10, "threshold": 0}).json()
        assert {answer["collection"] for answer in reply["answers"]} == {"one", "two"}
        confidences = [answer["confidence"] for answer in reply["answers"]]
        assert confidences == sorted(confidences, reverse=True)
        assert all(f"?collection={answer['collection']}#c=" in answer["url"] for answer in reply["answers"])
        assert reply["generations"] == {"one": 1, "two": 1}
        alone = client.post("/v1/ask", json={"question": "hearts", "threshold": 0, "collection": "two"}).json()
        assert {answer["collection"] for answer in alone["answers"]} == {"two"}
        hits = client.post("/v1/search", json={"question": "hearts", "k": 3}).json()["hits"]
        assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
        missing = client.post("/v1/ask", json={"question": "hearts", "collection": "three"})
        assert (missing.status_code, missing.json()["detail"]) == (404, "there is no such collection; there are: one, two")


def test_a_new_state_of_the_index_answers_without_a_restart(tmp_path: Path, fitted: Path, fitted_reader: Path) -> None:
    index_documents(tmp_path / "kb", "Bees dance.", settings=Settings(str(fitted)))
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:

        def search() -> tuple[dict[str, int], set[str]]:
            ranking = client.post("/v1/search", json={"question": "octopus", "k": 9}).json()
            return ranking["generations"], {hit["sentence"]["text"] for hit in ranking["hits"]}

        assert search() == ({"kb": 1}, {"Bees dance."})
        index_documents(tmp_path / "kb", "An octopus swims.")
        assert search() == ({"kb": 2}, {"Bees dance.", "An octopus swims."})
