"""Generated requests, good and bad: no error but those that the description names, and answers of the described shape."""

from __future__ import annotations

import os

import httpx
import pytest

schemathesis = pytest.importorskip("schemathesis", reason="the dev extra is not installed")
pytest.importorskip("fastapi", reason="the serve extra is not installed")

from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]


@pytest.fixture
def described(client: httpx.Client) -> object:
    return schemathesis.openapi.from_url(str(client.base_url.join("/openapi.json")))


@pytest.mark.system
@schemathesis.pytest.from_fixture("described").parametrize()
@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "30")), deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_requests(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)
