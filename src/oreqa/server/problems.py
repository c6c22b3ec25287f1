"""Errors as application/problem+json (RFC 9457), and JSON whose texts are safe to display."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from oreqa.errors import IndexStateError, InputError, ModelError, OreqaError

PROBLEM = "application/problem+json"

RETRY_AFTER = 5
"""Seconds after which to retry a busy server."""

CLIENT_LEFT = 499
"""The status, in metrics and logs only, of a request whose client did not wait."""

_UNSAFE = {
    **dict.fromkeys((*range(0x00, 0x20), *range(0x7F, 0xA0)), "\ufffd"),
    **dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), "\ufffd"),
    **dict.fromkeys((*range(0x2060, 0x2065), 0xFEFF), "\ufffd"),
    **dict.fromkeys((*range(0xD800, 0xE000), *range(0xE0000, 0xE01F0)), "\ufffd"),
}
for _kept in map(ord, "\n\t\r"):
    del _UNSAFE[_kept]


class RefusedError(Exception):
    """A request is answered with a problem: its status, what is wrong and how to fix it, and headers."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})


class LeftError(Exception):
    """The client has left: no answer is needed."""


def busy(detail: str) -> RefusedError:
    """Return a 503 for an overloaded server, with the time to retry."""
    return RefusedError(503, detail, {"Retry-After": str(RETRY_AFTER)})


def safe(text: str) -> str:
    """Replace each control, bidirectional and invisible character of a text by U+FFFD, which keeps offsets.

    Line ends and tabs stay, and so do the joiners that many scripts need (U+200C, U+200D).

    Examples:
        >>> safe("a\\x1b[1m\\n")
        'a\ufffd[1m\\n'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_UNSAFE)


def safe_values(value: Any) -> Any:
    """Return a JSON value with every text in it made ``safe``."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Mapping):
        return {safe(str(key)): safe_values(each) for key, each in value.items()}
    return [safe_values(each) for each in value] if isinstance(value, list | tuple) else value


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response, its texts made ``safe``."""
    return _response(value, status, "application/json", headers)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **details: Any) -> Response:
    """Return a problem response: ``detail`` says what is wrong and how to fix it."""
    row = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **details}
    return _response(row, status, PROBLEM, headers)


def _response(value: Any, status: int, kind: str, headers: Mapping[str, str] | None) -> Response:
    body = json.dumps(safe_values(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, dict(headers or {}), kind)


def add_handlers(app: FastAPI) -> None:
    """Answer every error of an application with a problem."""

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        return problem(error.status, error.detail, error.headers)

    @app.exception_handler(OreqaError)
    async def answer_oreqa_error(_: Request, error: OreqaError) -> Response:
        if isinstance(error, InputError) and not isinstance(error, IndexStateError | ModelError):
            return problem(400, str(error))
        logging.getLogger(__name__).error("%s", error)  # it names a file, which clients need not know
        what = "an index" if isinstance(error, IndexStateError) else "something that the server needs"
        detail = f"{what} cannot be read; the server's log says where"
        return problem(503, detail, {"Retry-After": str(RETRY_AFTER)})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        faults = list(faults_of(error.errors(), within=1))
        is_broken = any(each["type"] == "json_invalid" for each in error.errors())
        status = 400 if is_broken else 422
        first = f"{faults[0]['where']}: {faults[0]['what']}" if faults else "the request is not as it must be"
        return problem(status, first, faults=faults)

    @app.exception_handler(HTTPException)
    async def answer_http_error(request: Request, error: HTTPException) -> Response:
        detail = _MEANINGS.get(error.status_code, str(error.detail)).format(method=request.method)
        return problem(error.status_code, detail, error.headers)

    @app.exception_handler(LeftError)
    async def left(_: Request, __: LeftError) -> Response:
        return Response(status_code=CLIENT_LEFT)

    @app.exception_handler(Exception)
    async def internal(_: Request, __: Exception) -> Response:
        return problem(500, "something went wrong that should not have; the server's log says where")


_MEANINGS = {
    404: "there is nothing here; /openapi.json lists what there is",
    405: "{method} is not what this address takes; /openapi.json says what it does",
}


def faults_of(errors: Iterable[Mapping[str, Any]], within: int = 0) -> Iterable[dict[str, str]]:
    """Return what pydantic says is wrong, and where, without the values, which may be questions.

    The first ``within`` components of a location are dropped: they name the part of the request.
    """
    for error in errors:
        place = [str(part) for part in error["loc"][within:]]
        what = "is not JSON" if error["type"] == "json_invalid" else str(error["msg"]).removeprefix("Value error, ")
        yield {"where": ".".join(place) if error["type"] != "json_invalid" else "the body", "what": what}
