from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest
from served import served

from oreqa.server.collections import ServedCollection
from oreqa.server.metrics import LOGGER, JsonLines

SECRET = "Which zyxwvut has the qwertz?"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server logs."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    loggers = [logging.getLogger(name) for name in (LOGGER, "uvicorn.error", "asyncio", "")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
    loggers[0].setLevel(logging.INFO)
    yield written
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(handler)
        logger.setLevel(level)


def number(text: str, line: str) -> float:
    match = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(match[1]) if match else 0.0


def test_requests_questions_and_batches_are_counted(collections: dict[str, ServedCollection]) -> None:
    with served(collections) as client:
        client.post("/v1/ask", json={"question": SECRET, "threshold": 0})
        client.post("/v1/ask", json={"question": SECRET, "threshold": 1})
        client.post("/v1/search", json={"question": SECRET})
        client.post("/v1/ask", json={"question": ""})
        client.get("/v1/documents/0123456789abcdef")
        client.get(f"/{SECRET}")
        response = client.get("/metrics")
    text = response.text
    assert response.headers["content-type"].startswith("text/plain")
    assert number(text, 'oreqa_requests_total{address="/v1/ask",status="200"}') == 2
    assert number(text, 'oreqa_requests_total{address="/v1/ask",status="422"}') == 1
    assert number(text, 'oreqa_requests_total{address="/v1/documents/{id}",status="404"}') == 1
    assert number(text, 'oreqa_requests_total{address="other",status="404"}') == 1
    assert [number(text, f'oreqa_questions_total{{outcome="{name}"}}') for name in ("answered", "refused", "searched")] == [
        1,
        1,
        1,
    ]
    assert number(text, "oreqa_batch_questions_sum") == 3
    assert number(text, 'oreqa_generation{collection="shelf"}') == 1
    assert number(text, "oreqa_model_seconds_total") > 0
    assert "zyxwvut" not in text


def test_no_question_and_no_name_is_logged(collections: dict[str, ServedCollection], log: io.StringIO) -> None:
    with served(collections) as client:
        client.post("/v1/ask", json={"question": SECRET})
        client.post("/v1/batch", json={"questions": [SECRET]})
        client.post("/v1/search", json={"question": SECRET, "where": {SECRET: SECRET}})
        client.post("/v1/ask", json={"question": SECRET, SECRET: SECRET})
        client.post("/v1/ask", content=SECRET.encode(), headers={"content-type": "application/json"})
        client.get("/v1/documents", params={"path": SECRET})
        client.head("/v1/status")
        client.get(f"/{SECRET}")
        client.get("/healthz", headers={"host": "zyxwvut"})
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    requests = [line for line in lines if line["message"] == "request"]
    assert {line["address"] for line in requests} >= {
        "/v1/ask",
        "/v1/batch",
        "/v1/search",
        "/v1/documents",
        "/v1/status",
        "other",
    }
    assert all({"time", "level", "method", "status", "seconds"} <= set(line) for line in requests)
    assert "zyxwvut" not in log.getvalue()
    assert "octopus" not in log.getvalue()


def test_questions_are_logged_where_that_is_wanted(collections: dict[str, ServedCollection], log: io.StringIO) -> None:
    with served(collections, log_questions=True) as client:
        client.post("/v1/ask", json={"question": SECRET})
    assert SECRET in [json.loads(line).get("question") for line in log.getvalue().splitlines()]


def test_an_error_is_logged_by_its_kind_and_place_without_its_words(
    collections: dict[str, ServedCollection], log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object, questions: object, *_: object, **__: object) -> None:
        raise RuntimeError(f"cannot read {SECRET}")

    monkeypatch.setattr(ServedCollection, "ask", fail)
    with served(collections) as client:
        response = client.post("/v1/ask", json={"question": SECRET})
    assert (response.status_code, response.headers["content-type"]) == (500, "application/problem+json")
    assert "zyxwvut" not in response.text
    errors = [json.loads(line) for line in log.getvalue().splitlines() if '"error"' in line]
    assert errors
    assert errors[0]["error"] == "RuntimeError"
    assert any("test_metrics.py" in place for place in errors[0]["at"])
    assert "zyxwvut" not in log.getvalue()
