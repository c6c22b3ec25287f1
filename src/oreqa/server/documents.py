"""The documents of the collections over HTTP: lists, texts, and the original files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from oreqa.as_json import place_json
from oreqa.core import Passage
from oreqa.server.catalog import Catalog, CatalogDocument, contents, open_original, passages_between, source_state
from oreqa.server.collections import ServedCollection
from oreqa.server.evidence import is_drawable
from oreqa.server.problems import RefusedError, json_response
from oreqa.server.schemas import PlaceRow, SourceRange, StretchRow, problems_of

MOST_LISTED, FIRST_TEXT, MOST_TEXT = 1000, 64 * 1024, 256 * 1024
"""Documents per list at most, and characters of a text by default and at most."""

_CHUNK = 1 << 16

Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="a document's id", examples=["865c35c7be9db942"])]
In = Annotated[str | None, Query(max_length=64, description="the collection; the first that has the document if left out")]
Offset = Annotated[int | None, Query(ge=0, le=1 << 53)]


class ListedRow(BaseModel):
    """A document in a list."""

    id: str
    document: str
    title: str
    fields: dict[str, str]
    collection: str
    generation: int
    gone: bool


class DocumentsRow(BaseModel):
    """Documents of a collection; pass ``next`` as ``after`` to get the following ones."""

    documents: list[ListedRow]
    collection: str
    next: str | None


class HeadingRow(SourceRange):
    """A section of a document under one heading."""

    heading: str


class WholeDocumentRow(ListedRow):
    """A document: its contents and the state of its file.

    The file can be shown ("same"), was "changed", is "gone", or is "none", with the reason in words; ``drawable`` says
    whether its pages can be shown as pictures.
    """

    contents: list[HeadingRow]
    source: Literal["same", "changed", "gone", "none"]
    reason: str | None
    drawable: bool
    name: str


class PassageRow(StretchRow):
    """A passage of a document."""

    heading: str
    place: PlaceRow


class TextRow(BaseModel):
    """Passages of a document, with only white space between adjacent ones.

    If there are others, ``before`` and ``after`` are the characters to continue from with ``end`` and ``start``.
    """

    id: str
    collection: str
    generation: int
    passages: list[PassageRow]
    before: int | None
    after: int | None


def document_router(collections: Mapping[str, ServedCollection], catalog: Catalog) -> APIRouter:
    """Return the routes that show documents."""
    router = APIRouter(prefix="/v1/documents", tags=["documents"])
    read = problems_of(400, 401, 403, 404, 421, 422, 503)

    @router.get("", response_model=DocumentsRow, responses=read)
    def documents(
        collection: In = None,
        after: Annotated[str | None, Query(pattern="^[0-9a-f]{16}$")] = None,
        limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100,
        path: Annotated[
            str | None, Query(max_length=1000, description="only of this file or folder; * and ? are wildcards")
        ] = None,
    ) -> Response:
        """Return the documents of a collection, in the order of their files."""
        name = collection or next(iter(collections))
        if name not in collections:
            raise RefusedError(404, f"there is no such collection; there are: {', '.join(collections)}")
        rows, follow = catalog.page(name, (("path", (path,)),) if path else (), after, limit)
        last = rows[-1].id if rows and follow else None
        return json_response({"documents": [_row(each) for each in rows], "collection": name, "next": last})

    @router.get("/{id}", response_model=WholeDocumentRow, responses=read)
    def document(id: Id, collection: In = None) -> Response:
        """Return a document and its contents."""
        each = catalog.find(id, collection)
        runs = [{"heading": heading, "start": start, "end": end} for heading, start, end in contents(each)]
        state, reason = source_state(each)
        shown = {"source": state, "reason": reason, "drawable": state == "same" and is_drawable(each)}
        return json_response({**_row(each), "contents": runs, **shown, "name": each.file_name})

    @router.get("/{id}/text", response_model=TextRow, responses=read)
    def text(
        id: Id,
        collection: In = None,
        start: Offset = None,
        end: Offset = None,
        around: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
        size: Annotated[int, Query(ge=1, le=MOST_TEXT)] = FIRST_TEXT,
    ) -> Response:
        """Return the passages of a document from ``start``, up to ``end``, or on both sides of ``around``."""
        if start is not None and end is not None:
            raise RefusedError(400, "give start or end, not both: size says how much text there is to be")
        each = catalog.find(id, collection)
        return json_response(_text_row(each, *passages_between(each, start, end, around, size)))

    @router.get(
        "/{id}/original",
        response_class=Response,
        responses={**problems_of(401, 403, 404, 409, 421, 422, 503), 200: {"content": {"application/octet-stream": {}}}},
    )
    def original(id: Id, collection: In = None) -> Response:
        """Return a document's file for download; refused if it has changed since it was indexed."""
        each = catalog.find(id, collection)
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(each.file_name, safe='')}"}
        return StreamingResponse(_chunks(open_original(each)), headers=headers, media_type="application/octet-stream")

    return router


def _row(document: CatalogDocument) -> dict[str, Any]:
    return {
        "id": document.id,
        "document": document.key,
        "title": document.title,
        "fields": dict(document.fields),
        "collection": document.collection,
        "generation": document.generation,
        "gone": document.gone,
    }


def _text_row(document: CatalogDocument, passages: Sequence[Passage], has_before: bool, has_after: bool) -> dict[str, Any]:
    return {
        "id": document.id,
        "collection": document.collection,
        "generation": document.generation,
        "passages": [_passage_row(passage) for passage in passages],
        "before": passages[0].start if has_before else None,
        "after": passages[-1].end if has_after else None,
    }


def _passage_row(passage: Passage) -> dict[str, Any]:
    place = place_json(passage, passage.start, passage.end)
    return {"text": passage.text, "start": passage.start, "end": passage.end, "heading": passage.heading, "place": place}


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
