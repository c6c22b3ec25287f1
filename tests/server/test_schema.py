"""Generated requests, good and bad: no error but those that the description names, and answers of the described shape."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import pytest

schemathesis = pytest.importorskip("schemathesis", reason="the dev extra is not installed")

from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)


def bad_data_is_refused(context: Any, response: Any, case: Any) -> bool | None:
    """The library's check, which does not take a body that is too large for a refusal of its contents."""
    return None if response.status_code == 413 else negative_data_rejection(context, response, case)


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    bad_data_is_refused,
    unsupported_method,
]


EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "30"))


@pytest.mark.system
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_generated_requests(client: httpx.Client, mode: GenerationMode) -> None:
    described = schemathesis.openapi.from_url(str(client.base_url.join("/openapi.json")))
    operations = [operation.ok() for operation in described.get_all_operations()]
    assert len(operations) > 10
    for operation in operations:
        takes_nothing = not list(operation.iter_parameters()) and not operation.body
        if mode is GenerationMode.NEGATIVE and takes_nothing:  # nothing can be wrong about it
            continue
        strategy = operation.as_strategy(generation_mode=mode)

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def ask(case: schemathesis.Case) -> None:
            case.call_and_validate(checks=CHECKS)

        ask()


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["query", "question", "id", "limit", "collection"]) | st.text(), ANY, max_size=4)
CALLS = st.fixed_dictionaries({
    "jsonrpc": st.just("2.0"),
    "id": st.integers(0, 9),
    "method": st.just("tools/call"),
    "params": st.fixed_dictionaries({"name": st.sampled_from(["search", "fetch", "ask"]), "arguments": ARGUMENTS}),
})  # fmt: skip
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "resources/read", "prompts/get", "server/discover", "x"])
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "1.0"]), "method": METHODS}, optional={"id": ANY, "params": ANY}
)


@pytest.mark.system
@pytest.mark.parametrize("protocol", ["2025-06-18", "2026-07-28"])
def test_generated_messages_of_assistants(client: httpx.Client, protocol: str) -> None:
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": protocol}

    @settings(
        max_examples=10 * EXAMPLES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(CALLS | MESSAGES | ANY)
    def send(message: object) -> None:
        text = json.dumps(message).encode("utf-8", "surrogatepass")
        response = client.post("/mcp", content=text, headers={**headers, "content-type": "application/json"})
        assert response.status_code < 500, (message, response.text)
        assert response.status_code != 200 or response.json()["jsonrpc"] == "2.0"
        assert "Traceback" not in response.text

    send()
    assert client.get("/readyz").status_code == 200
