from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection

import httpx
import pytest
from served import served

from oreqa.server import guard
from oreqa.server.collections import ServedCollection
from oreqa.server.guard import GUESSES, HEADERS, MAX_BODY, Limiter, cookie_of, same_secret, session_of
from oreqa.server.settings import Access

TOKEN = "a-token-of-some-length"
BODY = {"question": "hearts?"}


@pytest.fixture
def closed(collections: dict[str, ServedCollection]) -> Iterator[httpx.Client]:
    """A server with a token, which is also reached as kb.example.org."""
    with served(collections, Access(frozenset({"kb.example.org"}), TOKEN)) as client:
        yield client


def refusal(response: httpx.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json", response.text
    assert response.json()["status"] == response.status_code
    return response.status_code, response.json()["detail"]


@pytest.mark.parametrize("path", ["/healthz", "/v1/status", "/v1/ask", "/mcp", "/nothing", "/"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:80", ""])
def test_other_hosts_are_refused_everywhere(client: httpx.Client, path: str, host: str) -> None:
    for method in ("GET", "POST"):
        status, detail = refusal(client.request(method, path, headers={"host": host}, json=BODY))
        assert (status, "--allow-host" in detail) == (421, True)


def test_a_request_without_a_host_or_with_two_is_refused(client: httpx.Client) -> None:
    url = client.base_url
    for head in ("", f"Host: {url.host}:{url.port}\r\nHost: evil.example\r\n"):
        with closing(socket.create_connection((url.host, url.port or 0))) as connection:
            connection.sendall(f"GET /healthz HTTP/1.0\r\n{head}\r\n".encode())
            answer = connection.makefile("rb").readline()
        assert answer.split()[1] in (b"421", b"400"), answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({}, 200),
    ],
)
def test_pages_of_other_sites_may_not_ask(client: httpx.Client, headers: dict[str, str], status: int) -> None:
    response = client.post("/v1/search", json=BODY, headers=headers)
    assert response.status_code == status
    assert not [name for name in response.headers if name.startswith("access-control")]
    if status == 403:
        refusal(response)
    assert client.get("/v1/status", headers=headers).status_code == (403 if "origin" in headers else 200)


def test_the_servers_own_page_may_ask(client: httpx.Client) -> None:
    host = f"{client.base_url.host}:{client.base_url.port}"
    for scheme in ("http", "https"):
        assert client.post("/v1/search", json=BODY, headers={"origin": f"{scheme}://{host}"}).status_code == 200
    preflight = client.options(
        "/v1/search", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert preflight.status_code == 403


@pytest.mark.parametrize(
    "path",
    ["/v1/status", "/v1/documents", "/metrics", "/openapi.json", "/mcp", "/nothing", "/v1/../v1/status", "//v1/status"],
)
def test_nothing_is_revealed_without_the_token(closed: httpx.Client, path: str) -> None:
    status, detail = refusal(closed.get(path))
    assert (status, "Authorization: Bearer" in detail) == (401, True)
    assert closed.get(path, headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
    assert closed.get(path, headers={"authorization": f"Basic {TOKEN}"}).status_code == 401
    assert closed.get(path, headers={"cookie": f"{cookie_of(TOKEN)}={TOKEN}"}).status_code == 401
    assert closed.get(path, headers={"cookie": 'x\x7f=;;="'}).status_code == 401
    assert closed.get(path, headers={"authorization": f"Bearer {TOKEN}"}).status_code != 401


def test_what_watches_the_server_needs_no_token(closed: httpx.Client) -> None:
    assert closed.get("/healthz").json() == {"status": "ok"}
    assert closed.get("/readyz").status_code == 200
    assert closed.get("/healthz", headers={"host": "kb.example.org"}).status_code == 200


def test_a_login_sets_a_cookie_that_no_script_reads_and_that_is_not_the_token(closed: httpx.Client) -> None:
    assert refusal(closed.post("/login", json={"token": "wrong-wrong-wrong"}))[0] == 401
    response = closed.post("/login", json={"token": TOKEN})
    cookie = response.headers["set-cookie"]
    assert response.status_code == 204
    assert TOKEN not in cookie
    assert {part.strip().lower() for part in cookie.split(";")[1:]} >= {"httponly", "samesite=strict", "path=/"}
    assert closed.get("/v1/status").status_code == 200  # httpx sends the cookie back
    assert closed.post("/logout").status_code == 204
    closed.cookies.clear()
    assert closed.get("/v1/status").status_code == 401
    behind = closed.post("/login", json={"token": TOKEN}, headers={"x-forwarded-proto": "https"})
    assert "secure" in behind.headers["set-cookie"].lower()
    closed.cookies.clear()


@pytest.mark.parametrize(
    "others",
    ['prefs={"a": 1}; %s', "a[b]=1; %s", "flag; %s; x=a b", "%s; a[b]=1", "name=J\xfcrgen x;%s", "%s", "a=b=c; ;=; %s"],
)
def test_cookies_of_others_do_not_sign_anybody_out(closed: httpx.Client, others: str) -> None:
    session = f"{cookie_of(TOKEN)}={session_of(TOKEN)}"
    for cookie, status in ((session, 200), (f"{session}0", 401), (f"x{session}", 401), (f"a={session}", 401)):
        sent = (others % cookie).encode("latin-1")
        assert closed.get("/v1/status", headers={b"cookie": sent}).status_code == status, sent


def test_servers_of_one_host_do_not_sign_each_others_clients_out(collections: dict[str, ServedCollection]) -> None:
    with (
        served(collections, Access(frozenset(), TOKEN)) as first,
        served(collections, Access(frozenset(), TOKEN[::-1])) as second,
        httpx.Client(trust_env=False, timeout=60) as browser,
    ):
        pages = {str(first.base_url): TOKEN, str(second.base_url): TOKEN[::-1]}
        for page, token in pages.items():
            assert browser.post(f"{page}/login", json={"token": token}).status_code == 204
        assert [browser.get(f"{page}/v1/status").status_code for page in pages] == [200, 200]
        browser.post(f"{second.base_url}/logout")
        assert [browser.get(f"{page}/v1/status").status_code for page in pages] == [200, 401]


def test_every_response_keeps_pages_apart(client: httpx.Client) -> None:
    for response in (
        client.get("/healthz"),
        client.get("/nothing"),
        client.post("/v1/ask", json={}),
        client.get("/healthz", headers={"host": "evil.example"}),
    ):
        for name, value in HEADERS.items():
            assert response.headers[name] == value
        assert "server" not in response.headers
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_a_large_body_is_refused_whatever_it_says_of_its_size(client: httpx.Client) -> None:
    large = b'{"question": "' + b"x" * MAX_BODY + b'"}'
    headers = {"content-type": "application/json"}
    assert refusal(client.post("/v1/ask", content=large, headers=headers))[0] == 413
    assert refusal(client.post("/v1/ask", content=iter([large[:1000], large[1000:]]), headers=headers))[0] == 413
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Host": "evil.example"}, {"Transfer-Encoding": "chunked"}])
def test_a_client_that_sends_far_too_much_reads_why_it_is_refused(client: httpx.Client, headers: dict[str, str]) -> None:
    url, large = client.base_url, b"x" * (16 << 20)
    for _ in range(3):
        with closing(HTTPConnection(url.host, url.port, timeout=30)) as connection:
            chunked = "Transfer-Encoding" in headers
            content = iter([large[:1000], large[1000:]]) if chunked else large
            sent = {"Content-Type": "application/json", **headers}
            connection.request("POST", "/v1/ask", content, sent, encode_chunked=chunked)
            response = connection.getresponse()
            assert (response.status, response.headers["connection"]) == (421 if "Host" in headers else 413, "close")
            assert json.loads(response.read())["status"] == response.status


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
def test_a_body_that_a_form_could_send_is_refused(client: httpx.Client, kind: str) -> None:
    response = client.post("/v1/ask", content=b'{"question": "hearts?"}', headers={"content-type": kind})
    assert refusal(response)[0] == 415


def test_a_body_that_does_not_come_is_not_waited_for(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    url = client.base_url
    head = f"POST /v1/ask HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    with closing(socket.create_connection((url.host, url.port or 0))) as connection:
        connection.sendall(head.encode() + b"{")
        assert connection.makefile("rb").readline().split()[1] == b"408"


def test_a_client_that_asks_too_often_is_told_when_to_come_back(collections: dict[str, ServedCollection]) -> None:
    with served(collections, Access(frozenset(), rate=5)) as client:
        statuses = [client.post("/v1/search", json=BODY).status_code for _ in range(6)]
        assert statuses == [200] * 5 + [429]
        response = client.post("/v1/search", json=BODY)
        assert refusal(response)[0] == 429
        assert 1 <= int(response.headers["retry-after"]) <= 13
        assert client.get("/v1/status").status_code == 200  # reading costs the models nothing


def test_behind_a_proxy_of_this_machine_each_client_has_its_own_rate(collections: dict[str, ServedCollection]) -> None:
    with served(collections, Access(frozenset(), rate=2)) as client:
        for address in ("10.0.0.1", "10.0.0.2", "2001:db8::1"):
            headers = {"x-forwarded-for": address}
            assert [client.post("/v1/search", json=BODY, headers=headers).status_code for _ in range(3)] == [200, 200, 429]


def test_tokens_cannot_be_guessed_at_any_speed(collections: dict[str, ServedCollection]) -> None:
    wrong = {"authorization": "Bearer wrong-wrong-wrong"}
    with served(collections, Access(frozenset(), TOKEN)) as client:
        statuses = [client.get("/v1/status", headers=wrong).status_code for _ in range(GUESSES + 2)]
        assert statuses == [401] * GUESSES + [429] * 2
        assert client.post("/login", json={"token": TOKEN}).status_code == 429
        assert client.get("/v1/status", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_bucket_fills_again_and_each_client_has_its_own() -> None:
    now = [0.0]
    limiter = Limiter(60, lambda: now[0])
    assert [limiter.spend("a") for _ in range(60)] == [0.0] * 60
    assert limiter.spend("a") == pytest.approx(1.0)
    assert limiter.spend("b", 100) == 0.0  # more than a minute's: as many as a minute has
    assert limiter.spend("b") > 0
    now[0] += 2.0
    assert [limiter.spend("a") for _ in range(3)] == [0.0, 0.0, pytest.approx(1.0)]
    assert Limiter(0).spend("a", 10**9) == 0.0


def test_the_buckets_of_many_clients_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_MOST_CLIENTS", 10)
    limiter = Limiter(1, lambda: 0.0)
    for number in range(100):
        limiter.spend(str(number))
    assert len(limiter._buckets) == 10
    assert limiter.spend("99") > 0


def test_secrets() -> None:
    assert same_secret("abc", "abc")
    assert not same_secret("abd", "abc")
    assert not same_secret("äbc", "abc")
    assert not same_secret("\ud800", "abc")
    assert session_of(TOKEN) != session_of(TOKEN + "x")
    assert cookie_of(TOKEN) != cookie_of(TOKEN + "x")
