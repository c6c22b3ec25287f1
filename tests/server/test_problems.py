from __future__ import annotations

import json

import httpx
import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.server.problems import json_response, problem, safe, safe_values


@pytest.mark.parametrize(
    "code",
    [
        0x00,
        0x08,
        0x1B,
        0x7F,
        0x85,
        0x9B,
        0x200F,
        0x2028,
        0x202E,
        0x2066,
        0xD800,
        0xE0041,
        0x061C,
        0x2060,
        0x2064,
        0xFEFF,
        0xE0100,
        0xE01EF,
    ],
)
def test_what_a_terminal_obeys_or_nobody_sees_is_a_mark(code: int) -> None:
    assert safe(f"a{chr(code)}b") == "a\ufffdb"
    assert safe_values({chr(code): [chr(code), 1, None, (chr(code),)]}) == {"\ufffd": ["\ufffd", 1, None, ["\ufffd"]]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "tab\tand\nline\r\n",
        "Grüße 漢字 שלום",
        "👩\u200d🔬",
        "soft\u00adhyphen",
        "\u0646\u200c\u0647",
        "\u2764\ufe0f",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert safe(text) == text


def test_a_problem_says_what_is_wrong() -> None:
    response = problem(404, "no \x1b such thing", {"X-Other": "1"}, faults=[])
    assert (response.status_code, response.media_type, response.headers["x-other"]) == (404, "application/problem+json", "1")
    assert json.loads(bytes(response.body)) == {
        "type": "about:blank", "title": "Not Found", "status": 404, "detail": "no \ufffd such thing", "faults": [],
    }  # fmt: skip


def test_json_is_utf_8_and_holds_no_number_that_json_has_not() -> None:
    assert bytes(json_response({"a": "ß"}).body) == '{"a":"ß"}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        json_response(float("nan"))


def test_the_place_of_a_fault_names_a_key_that_is_called_like_a_part_of_a_request(client: httpx.Client) -> None:
    response = client.post("/v1/ask", json={"question": "x", "where": {"path": 5}})
    assert response.json()["faults"][0]["where"].startswith("where.path")
