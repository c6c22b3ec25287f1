"""Checks every request before the application sees it: host, origin, token, rate and body size.

It is plain ASGI, so that it also guards what is mounted in the application.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders

from oreqa.server.problems import RefusedError, problem
from oreqa.server.settings import Access

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY, BODY_SECONDS = 64 * 1024, 10.0
"""Bytes of a request's body at most, and seconds within which it must arrive."""

GUESSES = 20
"""Requests per minute and client with a wrong token, or logins."""

OPEN_PATHS, OPEN_FOLDERS = frozenset({"/", "/healthz", "/readyz", "/login"}), ("/web/", "/d/")
"""Paths that need no token: the page itself, which contains no document, the login, and health checks."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every response."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_MOST_CLIENTS = 10_000


class Limiter:
    """A token bucket for each client:

    ``rate`` tokens per minute, with a burst of one minute's worth; a rate of 0 is unlimited.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def spend(self, client: str, number: int = 1) -> float:
        """Take ``number`` tokens, at most a minute's worth. Returns 0, or the seconds to wait if there are too few."""
        if not self._rate:
            return 0.0
        now, number = self._clock(), min(number, self._rate)
        left, before = self._buckets.pop(client, (float(self._rate), now))
        left = min(float(self._rate), left + (now - before) * self._rate / 60)
        wait = 0.0 if left >= number else (number - left) * 60 / self._rate
        self._buckets[client] = (left if wait else left - number, now)
        if len(self._buckets) > _MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]  # the client that has been idle longest
        return wait


class Guard:
    """Refuses what must not reach the ``application``, and adds the headers that isolate pages to every response.

    ``large`` maps paths to the size limits of their bodies in bytes; these are not buffered before they are passed on.
    """

    def __init__(
        self, application: Application, access: Access, limiter: Limiter, large: Mapping[str, int] | None = None
    ) -> None:
        self._application, self._access, self._limiter = application, access, limiter
        self._large = dict(large or {})
        self._session = session_of(access.token) if access.token else None
        self._cookie = cookie_of(access.token) if access.token else ""
        self._guesses = Limiter(GUESSES)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return

        body = _Body(receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            elif message["type"] == "http.response.body" and not message.get("more_body") and not body.has_ended:
                await send({**message, "more_body": True})
                await body.drop()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        receive = body.receive
        try:
            self.check(scope)
            if scope["path"] not in self._large:
                receive = await _gathered(receive, Headers(scope=scope))
        except RefusedError as error:
            refusal = problem(error.status, error.detail, {"Connection": "close", **error.headers})
            await refusal(scope, receive, send_with_headers)
            return
        except ConnectionError:  # the client has left
            return
        # HEAD is a GET whose body the protocol drops (RFC 9110, 9.3.2).
        request_scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        try:
            await self._application(request_scope, receive, send_with_headers)
        finally:
            scope["route"] = request_scope.get("route")  # for request metrics

    def check(self, scope: MutableMapping[str, Any]) -> None:
        """Raise RefusedError for a request that is refused by its headers alone."""
        headers, path, method = Headers(scope=scope), scope["path"], scope["method"]
        self._check_host(headers, method)
        client = client_of(scope)
        is_open = path in OPEN_PATHS or path.startswith(OPEN_FOLDERS)
        if not is_open and self._session and not self._is_signed_in(headers):
            spend_or_refuse(self._guesses, client)
            raise RefusedError(
                401,
                "this server wants its token: send it as 'Authorization: Bearer TOKEN', or sign in",
                {"WWW-Authenticate": 'Bearer realm="oreqa"'},
            )
        if method not in _SAFE_METHODS:
            spend_or_refuse(self._guesses if path == "/login" else self._limiter, client)

    def _check_host(self, headers: Headers, method: str) -> None:
        hosts, origin = headers.getlist("host"), headers.get("origin")
        host = hosts[0].lower() if len(hosts) == 1 else ""
        if host not in self._access.hosts:
            raise RefusedError(421, "this server does not answer for this host: start it with --allow-host HOST:PORT")
        is_foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
        site = headers.get("sec-fetch-site", "none")
        if is_foreign or (method not in _SAFE_METHODS and site not in ("none", "same-origin")):
            raise RefusedError(403, "pages of other sites may not ask this server")

    def _is_signed_in(self, headers: Headers) -> bool:
        assert self._access.token is not None
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return same_secret(value.strip(), self._access.token)
        # By hand: http.cookies stops at the first cookie that it cannot parse, and others may set such ones for this host.
        cookies = (cookie.partition("=") for line in headers.getlist("cookie") for cookie in line.split(";"))
        session = self._session or ""
        return any(name.strip() == self._cookie and same_secret(value.strip(), session) for name, _, value in cookies)


def client_of(scope: Mapping[str, Any]) -> str:
    """Return who asks: the request's source address, or the one named by a proxy on this machine."""
    return str((scope.get("client") or ("",))[0])


def spend_or_refuse(limiter: Limiter, client: str, number: int = 1) -> None:
    """Raise RefusedError, a 429, if a client has asked too often."""
    if wait := limiter.spend(client, number):
        seconds = str(int(wait) + 1)
        raise RefusedError(429, f"too many requests; ask again in {seconds} s", {"Retry-After": seconds})


def session_of(token: str) -> str:
    """Return the value of the cookie that stands for a token; the token cannot be derived from it."""
    return _derived(token, b"oreqa session")


def cookie_of(token: str) -> str:
    """Return the name of that cookie, a different one for each token.

    Browsers send a host's cookies to all of its ports; separate names keep servers on one host from signing out each other's
    clients.
    """
    return f"oreqa_session_{_derived(token, b'oreqa cookie')[:8]}"


def _derived(token: str, purpose: bytes) -> str:
    return hmac.new(token.encode(), purpose, hashlib.sha256).hexdigest()


def same_secret(sent: str, secret: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(sent.encode("utf-8", "replace"), secret.encode())


class _Body:
    """The body of a request as it arrives. The rest of it is read and dropped once the response is sent.

    Closing a connection with unread bytes would reset it, and the client would never see the response.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive, self.has_ended = receive, False

    async def receive(self) -> Message:
        """Return the next message."""
        message = await self._receive()
        self.has_ended = message["type"] != "http.request" or not message.get("more_body")
        return message

    async def drop(self) -> None:
        """Read what is left, for ``BODY_SECONDS`` at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BODY_SECONDS):
                while not self.has_ended:
                    await self.receive()


async def _gathered(receive: Receive, headers: Headers) -> Receive:
    """Read and check the request's body; return it as messages to replay. Raises RefusedError if it is too large or late."""
    announced = headers.get("content-length", "0")
    too_large = RefusedError(413, f"the body of a request has at most {MAX_BODY:,} bytes")
    if announced.isdecimal() and int(announced) > MAX_BODY:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise ConnectionResetError
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > MAX_BODY:
                    raise too_large
                if not message.get("more_body"):
                    break
    except TimeoutError:
        raise RefusedError(408, f"the body did not arrive in {BODY_SECONDS:g} s") from None
    body = b"".join(parts)
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and kind != "application/json":
        raise RefusedError(415, "send the body as application/json")
    rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return rest.pop() if rest else await receive()

    return again
