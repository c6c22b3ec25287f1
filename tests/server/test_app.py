from __future__ import annotations

import json
import socket
import threading
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.collections import ServedCollection, open_collections


def test_the_status_names_the_collections_and_their_state(client: httpx.Client) -> None:
    status = client.get("/v1/status").json()
    (collection,) = status["collections"]
    assert (collection["name"], collection["generation"], collection["documents"]) == ("shelf", 1, 5)
    assert (collection["calibrated"], status["waiting"], status["read_only"]) == (True, 0, False)
    assert (collection["reads"], status["login"]) == (5, False)


def test_every_address_describes_its_errors(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert "ProblemRow" in described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            responses = operation["responses"]
            assert "421" in responses, path
            for status, response in responses.items():
                if int(status) >= 400:
                    content = response["content"]["application/problem+json"]
                    assert content["schema"]["$ref"].endswith("/ProblemRow"), (method, path, status)
    assert "HTTPValidationError" not in json.dumps(described)
    assert set(described["paths"]["/v1/ask"]["post"]["responses"]) == {
        "200", "400", "401", "403", "404", "408", "413", "415", "421", "422", "429", "503",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/web/main.js", 200),
        ("/readyz", 200),
        ("/v1/documents", 200),
        ("/v1/documents/x", 422),
        ("/v1/ask", 405),
    ],
)
def test_the_head_alone_is_that_of_a_get(client: httpx.Client, path: str, status: int) -> None:
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, whole.status_code, head.content) == (status, status, b"")
    assert head.headers["content-length"] == str(len(whole.content))


def test_wrong_addresses_and_methods_are_problems(client: httpx.Client) -> None:
    missing, wrong = client.get("/v2/ask"), client.get("/v1/ask")
    assert (missing.status_code, missing.json()["title"]) == (404, "Not Found")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json()["detail"].startswith("GET is not what this address takes")
    for path in ("/docs", "/redoc"):
        assert client.get(path).status_code == 404  # their pages load from other hosts


def test_an_index_that_is_gone_is_not_ready_and_comes_back(
    tmp_path: Path, fitted: Path, fitted_reader: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index_documents(tmp_path / "kb", "Bees dance.", settings=Settings(str(fitted)))
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:
        assert client.get("/readyz").status_code == 200
        (tmp_path / "kb").rename(tmp_path / "away")
        for response in (
            client.get("/readyz"),
            client.post("/v1/ask", json={"question": "bees"}),
            client.get("/v1/documents"),
            client.get("/v1/status"),
        ):
            assert (response.status_code, response.headers["retry-after"]) == (503, "5"), response.text
            assert str(tmp_path) not in response.text
        assert str(tmp_path / "kb") in caplog.text
        assert client.get("/healthz").status_code == 200
        numbers = client.get("/metrics")
        assert (numbers.status_code, 'oreqa_generation{collection="kb"} NaN' in numbers.text) == (200, True)
        assert str(tmp_path) not in numbers.text
        (tmp_path / "away").rename(tmp_path / "kb")
        assert client.get("/readyz").status_code == 200
        assert 'oreqa_generation{collection="kb"} 1.0' in client.get("/metrics").text
        assert client.post("/v1/ask", json={"question": "bees"}).status_code == 200


def test_an_index_that_somebody_holds_keeps_only_those_waiting_who_ask_for_it(
    client: httpx.Client, collections: dict[str, ServedCollection]
) -> None:
    ready: list[int] = []

    def ask() -> None:
        ready.append(httpx.get(f"{client.base_url}/readyz", timeout=60, trust_env=False).status_code)

    asking = threading.Thread(target=ask)
    with collections["shelf"].index._lock:
        asking.start()
        asking.join(0.5)
        assert client.get("/healthz", timeout=5).status_code == 200
        assert ready == []
    asking.join()
    assert ready == [200]


def test_an_index_that_is_replaced_under_load_gives_no_error_and_no_mixture(
    tmp_path: Path, fitted: Path, fitted_reader: Path
) -> None:
    index_documents(tmp_path / "kb", {"id": "a", "text": "State 1 holds."}, settings=Settings(str(fitted)))
    wrong: list[object] = []
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                response = client.post("/v1/search", json={"question": "state holds", "unit": "passage"})
                row = response.json()
                texts = [hit["passage"]["text"] for hit in row.get("hits", ())]
                if response.status_code != 200 or texts != [f"State {row['generations']['kb']} holds."]:
                    wrong.append(row)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(2, 6):
            index_documents(tmp_path / "kb", {"id": "a", "text": f"State {number} holds."})
        stop.set()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_a_client_that_leaves_does_no_harm(client: httpx.Client) -> None:
    url, body = client.base_url, b'{"question": "How many hearts does it have?"}'
    head = (
        f"POST /v1/ask HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(5):
        with closing(socket.create_connection((url.host, url.port or 0))) as connection:
            connection.sendall(head.encode() + body)
    assert client.post("/v1/ask", json={"question": "hearts?"}).status_code == 200


def test_a_promise_is_about_first_answers(collections: dict[str, ServedCollection]) -> None:
    from dataclasses import replace

    from oreqa.answering.guarantee import Guarantee

    shelf = replace(collections["shelf"], threshold=0.0, promise=Guarantee(0.9, 2.0, 100, 50, 49))
    with served({"shelf": shelf}) as client:
        refused = client.post("/v1/ask", json={"question": "hearts?", "k": 2})
        assert (refused.status_code, "leave threshold out" in refused.json()["detail"]) == (400, True)
        reply = client.post("/v1/ask", json={"question": "hearts?"}).json()
        assert (reply["found"], reply["answers"]) == (False, [])  # no confidence is above 2


def test_a_threshold_without_a_calibration_is_refused(tmp_path: Path, tiny: Path, tiny_reader: Path) -> None:
    index_documents(tmp_path / "kb", "Bees dance.", settings=Settings(str(tiny)))
    with served(open_collections({"kb": tmp_path / "kb"}, reader=tiny_reader)) as client:
        refused = client.post("/v1/ask", json={"question": "bees?", "threshold": 0.5})
        assert (refused.status_code, refused.headers["content-type"]) == (400, "application/problem+json")
        reply = client.post("/v1/ask", json={"question": "bees?"}).json()
        assert reply["calibrated"] is False
