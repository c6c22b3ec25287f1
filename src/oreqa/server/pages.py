"""The pages of PDFs over HTTP: the position of a text on them, and their pictures."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from oreqa.server.catalog import Catalog
from oreqa.server.documents import Id, In
from oreqa.server.drawing import WIDTHS, Drawer
from oreqa.server.evidence import document_boxes, page_picture
from oreqa.server.guard import Limiter, client_of, spend_or_refuse
from oreqa.server.problems import json_response
from oreqa.server.schemas import problems_of

_MOST = 1 << 53
"""The largest integer that every client can represent exactly."""

Character = Annotated[int, Query(ge=0, le=_MOST, description="a character of the document's text")]
Width = Annotated[int, Query(description="pixels", json_schema_extra={"enum": list(WIDTHS)})]


class BoxRow(BaseModel):
    """A rectangle on a page, counted from 1, as fractions of the displayed page, from its upper left corner."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


class SizeRow(BaseModel):
    """A page and its displayed size in points."""

    page: int
    width: float
    height: float


class BoxesRow(BaseModel):
    """The rectangles of a text, one per line, their pages, and the document's number of pages."""

    boxes: list[BoxRow]
    pages: list[SizeRow]
    page_count: int


def page_router(catalog: Catalog, drawer: Drawer, limiter: Limiter) -> APIRouter:
    """Return the routes that show pages; the ``limiter`` counts each client's drawings."""
    router = APIRouter(prefix="/v1/documents", tags=["documents"])
    drawn = problems_of(400, 401, 403, 404, 409, 421, 422, 429, 503)

    @router.get("/{id}/boxes", response_model=BoxesRow, responses=drawn)
    def boxes(id: Id, start: Character, end: Character, request: Request, collection: In = None) -> Response:
        """Return the rectangles of characters ``start`` to ``end`` on a PDF's pages; none for text of scanned pages."""
        spend_or_refuse(limiter, client_of(request.scope))
        return json_response(asdict(document_boxes(catalog.find(id, collection), drawer, start, end)))

    @router.get("/{id}/pages/{number}", response_class=Response, responses={**drawn, 200: {"content": {"image/webp": {}}}})
    def page(
        id: Id,
        number: Annotated[int, Path(ge=1, le=_MOST, description="the page, from 1")],
        request: Request,
        width: Width = WIDTHS[0],
        collection: In = None,
    ) -> Response:
        """Return a page of a PDF as a WebP picture; very tall pages are narrower than ``width``."""
        spend_or_refuse(limiter, client_of(request.scope))
        return Response(page_picture(catalog.find(id, collection), drawer, number, width), media_type="image/webp")

    return router
