"""The files of the web page, which contain no document: they are read once, and nothing else is ever served."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from oreqa.server.documents import Id
from oreqa.server.problems import RefusedError

WEB = Path(__file__).parent / "web"

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file, its type, and the tag by which browsers check for changes."""

    content: bytes
    kind: str
    tag: str


def static_router(folder: Path = WEB) -> APIRouter:
    """Return the routes of the page, at / and at /d/ID for a document, and of its files under /web/."""
    files = {file.name: _file(file) for file in sorted(folder.glob("*")) if file.suffix in _KINDS}
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def page(request: Request) -> Response:
        return _sent(files.get("index.html"), request)

    @router.get("/d/{id}")
    async def document_page(id: Id, request: Request) -> Response:
        return _sent(files.get("index.html"), request)

    @router.get("/web/{name}")
    async def file_of_page(name: str, request: Request) -> Response:
        return _sent(files.get(name), request)

    return router


def _file(file: Path) -> StaticFile:
    content = file.read_bytes()
    return StaticFile(content, _KINDS[file.suffix], f'"{hashlib.sha256(content).hexdigest()[:16]}"')


def _sent(file: StaticFile | None, request: Request) -> Response:
    if file is None:
        raise RefusedError(404, "the page has no such file")
    headers = {"ETag": file.tag, "Cache-Control": "no-cache"}  # cached, but revalidated: an update shows at once
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.kind)
