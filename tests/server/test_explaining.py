"""How answers came about, over HTTP."""

from __future__ import annotations

import httpx

from oreqa.answering.replies import explanation_json
from oreqa.server.collections import ServedCollection
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
