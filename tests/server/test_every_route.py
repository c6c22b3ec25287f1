"""What holds at every address of the application: hosts, origins, the token, no path from a request, no question in the log."""

from __future__ import annotations

import http.client
import io
import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from served import served
from starlette.routing import BaseRoute

pytest.importorskip("mcp", reason="the serve extra is not installed")

from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.server import guard
from oreqa.server.app import create_app
from oreqa.server.collections import ServedCollection, close_collections, open_collections
from oreqa.server.guard import HEADERS, OPEN_PATHS, cookie_of
from oreqa.server.metrics import LOGGER, JsonLines
from oreqa.server.settings import Access

TOKEN = "a-token-of-some-length"
SECRET = "zyxwvut"
CANARY = "the canary sings"

TRAVERSALS = [
    "../{0}",
    "../../{0}",
    "..%2F{0}",
    "%2e%2e%2f{0}",
    "..%252f{0}",
    "....//{0}",
    "..\\{0}",
    "..%5c{0}",
    "%2F{1}",
    "{1}",
    "file:%2F%2F{1}",
    "{0}%00",
    "..%c0%af{0}",
    "..;/{0}",
]
"""Ways to a file, by its name and by its whole path."""


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """The methods and patterns of all routes, those of included routers, too."""
    for route in routes:
        if router := getattr(route, "original_router", None):
            yield from routes_of(router.routes)
        else:
            for method in sorted(getattr(route, "methods", None) or ("GET",)):
                yield method, route.path  # type: ignore[attr-defined]


def every_route() -> list[tuple[str, str]]:
    application: Any = create_app({}, Access(frozenset()))
    while not hasattr(application, "routes"):
        application = application._application
    return [*routes_of(application.routes), ("GET", "/nothing"), ("POST", "/nothing")]


ROUTES = every_route()


def filled(pattern: str, value: str = "0123456789abcdef") -> str:
    return re.sub(r"\{(\w+)\}", lambda match: "1" if match[1] == "number" else value, pattern)


def raw(client: httpx.Client, method: str, target: str, body: object = None, **headers: str) -> tuple[int, str, str]:
    """The status, the body and the headers of a request whose target is sent as it is written."""
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port, timeout=60)
    data = None if body is None else json.dumps(body).encode()
    host = f"{client.base_url.host}:{client.base_url.port}"
    try:
        connection.putrequest(method, target, skip_host=True)
        for name, value in {"Host": host, "Content-Type": "application/json", **headers}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(data or b"")))
        connection.endheaders(data)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace"), str(response.headers)
    finally:
        connection.close()


@pytest.fixture(scope="module")
def closed(collections: dict[str, ServedCollection]) -> Iterator[httpx.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "GUESSES", 0)  # as many as there are
        with served(collections, Access(frozenset(), TOKEN)) as client:
            yield client


def test_every_route_but_the_page_and_the_protocol_of_assistants_is_described(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()["paths"].items()
    operations = {(method.upper(), path) for path, methods in described for method in methods}
    rest = {("GET", "/"), ("GET", "/d/{id}"), ("GET", "/web/{name}"), ("GET", "/openapi.json"), ("POST", "/mcp")}
    assert operations | rest == {route for route in ROUTES if route[1] != "/nothing" and route[0] != "HEAD"}


@pytest.mark.parametrize(("method", "pattern"), ROUTES)
def test_other_hosts_and_origins_are_refused_before_anything_is_revealed(
    closed: httpx.Client, method: str, pattern: str
) -> None:
    path, key = filled(pattern), {"authorization": f"Bearer {TOKEN}"}
    for headers, status in (
        ({"host": "evil.example"}, 421),
        ({"host": f"evil.example:{closed.base_url.port}"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ):
        response = closed.request(method, path, headers={**headers, **key}, json={})
        assert response.status_code == status, (headers, response.text)
        assert response.headers["content-type"] == "application/problem+json"
        assert all(response.headers[name] == value for name, value in HEADERS.items())
        assert "access-control-allow-origin" not in response.headers
    if method not in ("GET", "HEAD"):
        for site in ("cross-site", "same-site"):
            response = closed.request(method, path, headers={"sec-fetch-site": site, **key}, json={})
            assert response.status_code == 403


@pytest.mark.parametrize(("method", "pattern"), ROUTES)
def test_the_token_is_asked_for_but_where_nothing_is_revealed(closed: httpx.Client, method: str, pattern: str) -> None:
    path = filled(pattern)
    is_open = path in OPEN_PATHS or pattern in ("/d/{id}", "/web/{name}")
    wrong = {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}, {"cookie": f"{cookie_of(TOKEN)}={TOKEN}"}
    for headers in ({}, *wrong):
        response = closed.request(method, path, headers=headers, json={})
        assert (response.status_code == 401) == (not is_open), (headers, response.text)
        for word in ("octopus", "shelf", "hearts", "oreqa_questions"):
            assert word not in response.text
    assert closed.request(method, path, headers={"authorization": f"Bearer {TOKEN}"}, json={}).status_code not in (401, 500)


@pytest.fixture(scope="module")
def beside(
    tmp_path_factory: pytest.TempPathFactory, fitted: Path, fitted_reader: Path
) -> Iterator[tuple[httpx.Client, Path, str]]:
    """A server of an index of one file, beside which lies another one, and the id of the first."""
    home = tmp_path_factory.mktemp("home")
    (home / "docs").mkdir()
    (home / "docs" / "public.md").write_text("# Birds\n\nBirds sing in the morning.\n")
    (home / "secret.txt").write_text(CANARY)
    index_files(home / "kb", home / "docs", Settings(str(fitted)))
    opened = open_collections({"kb": home / "kb"}, reader=fitted_reader, threshold=0.0)
    with served(opened, Access(frozenset())) as client:
        (document,) = client.get("/v1/documents").json()["documents"]
        yield client, home / "secret.txt", document["id"]
    close_collections(opened)


@pytest.mark.parametrize(
    ("method", "pattern"), [route for route in ROUTES if "{" in route[1]] + [("GET", "/{name}"), ("GET", "//{name}")]
)
def test_no_path_leads_out(beside: tuple[httpx.Client, Path, str], method: str, pattern: str) -> None:
    client, secret, name = beside
    for traversal in TRAVERSALS:
        way = traversal.format("secret.txt", secret).replace(" ", "%20")
        for target in (filled(pattern, way), f"{filled(pattern, name)}/{way}", f"{filled(pattern, name)}?collection={way}"):
            status, text, _ = raw(client, method, target)
            assert CANARY not in text, target
            assert status < 500, (target, text)


BODIES = {
    "/v1/ask": {"question": "birds"},
    "/v1/batch": {"questions": ["birds"]},
    "/v1/search": {"question": "birds"},
    "/v1/explain": {"question": "birds"},
    "/v1/marks": {"question": "birds", "verdict": "right", "document_id": "0123456789abcdef", "start": 0, "end": 5},
    "/login": {"token": "x"},
    "/logout": {},
    "/nothing": {},
}


def message(name: str, **arguments: object) -> dict[str, object]:
    """A call of a tool, as ``/mcp`` gets it."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_no_value_in_a_body_is_taken_for_a_path(beside: tuple[httpx.Client, Path, str]) -> None:
    client, secret, _ = beside
    posted = {path for method, path in ROUTES if method == "POST"} - {"/mcp"}
    assert posted == set(BODIES)
    for way in ("../secret.txt", str(secret), secret.as_uri(), "..\\secret.txt", "secret.txt\0"):
        for path, body in BODIES.items():
            for key in {*body, "collection", "where", "document", "path", "file"}:
                status, text, _ = raw(client, "POST", path, {**body, key: {"path": way} if key == "where" else way})
                assert CANARY not in text
                assert status < 500, (path, key, text)
        for name in ("search", "fetch", "ask", way):
            for key in ("query", "question", "id", "collection", "uri"):
                _, text, _ = raw(client, "POST", "/mcp", message(name, **{key: way}), **ACCEPT)
                assert CANARY not in text
        for method in ("resources/read", "prompts/get", "completion/complete"):
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": secret.as_uri(), "name": way}}
            assert CANARY not in raw(client, "POST", "/mcp", body, **ACCEPT)[1]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged, whatever its level."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonLines())
    root, ours = logging.getLogger(), logging.getLogger(LOGGER)
    levels = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)  # as the server's own log has it
    ours.setLevel(logging.INFO)
    yield written
    root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def test_nothing_of_a_request_is_logged_but_its_method_and_route(
    collections: dict[str, ServedCollection], log: io.StringIO, capfd: pytest.CaptureFixture[str]
) -> None:
    sure = {"shelf": replace(collections["shelf"], threshold=0.0)}
    with served(sure) as client:
        for method, pattern in ROUTES:
            target = f"{filled(pattern, quote(SECRET))}?{SECRET}={SECRET}&path={SECRET}&collection={SECRET}"
            headers = {"User-Agent": SECRET, "Cookie": f"{cookie_of(TOKEN)}={SECRET}", "Authorization": f"Bearer {SECRET}"}
            body = None if method in ("GET", "HEAD") else {SECRET: SECRET}
            raw(client, method, target, body, Host=SECRET)
            raw(client, method, target, body, Origin=SECRET)
            raw(client, method, target, body, **headers)
            for key in BODIES.get(pattern, {}):
                raw(client, method, pattern, {**BODIES[pattern], key: [SECRET] if key == "questions" else SECRET})
        for name, arguments in (
            ("ask", {"question": SECRET}),
            ("ask", {"question": SECRET, "limit": SECRET, SECRET: SECRET}),
            ("ask", {"question": SECRET, "collection": SECRET}),
            ("search", {"query": SECRET}),
            ("fetch", {"id": SECRET}),
            (SECRET, {SECRET: SECRET}),
        ):
            status, text, _ = raw(client, "POST", "/mcp", message(name, **arguments), **ACCEPT)
            assert status == 200, text
        raw(client, "POST", "/mcp", {"jsonrpc": "2.0", "id": SECRET, "method": SECRET, "params": {SECRET: SECRET}}, **ACCEPT)
        raw(client, "POST", "/mcp", [SECRET], **ACCEPT)
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    addresses = {line["address"] for line in lines if line["message"] == "request"}
    assert {path for _, path in ROUTES} - addresses <= {"/nothing", "/openapi.json"}
    output = capfd.readouterr()
    for text in (log.getvalue(), output.out, output.err):
        assert SECRET not in text
        assert "octopus" not in text
