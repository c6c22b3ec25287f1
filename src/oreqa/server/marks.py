"""Marks over HTTP: people's judgements of answers, stored in the index's folder."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field, StrictInt, StrictStr
from starlette.responses import Response

from oreqa.answering.marked import touched_sentence
from oreqa.datasets.marks import Mark, Verdict, mark_json, question_id, read_marks, remove_mark, set_mark
from oreqa.errors import InputError
from oreqa.server.catalog import Catalog, CatalogDocument, passages_between
from oreqa.server.collections import ServedCollection, chosen
from oreqa.server.problems import RefusedError, busy, json_response
from oreqa.server.schemas import POSTED, Body, CollectionName, DocumentId, QuestionText, problems_of

MOST_MARKED, MOST_GIVEN = 1_000, 10_000
"""The most characters of a marked answer, and of what had been answered."""


class MarkBody(Body):
    """A judgement of an answer: it is right, this one is (corrected), the documents have none, or it is wrong.

    The first two name a range of a document.
    """

    question: QuestionText
    verdict: Verdict
    document_id: DocumentId | None = None
    start: Annotated[StrictInt | None, Field(ge=0, le=1 << 53)] = None
    end: Annotated[StrictInt | None, Field(ge=0, le=1 << 53)] = None
    given_answer: Annotated[StrictStr, Field(alias="given", max_length=MOST_GIVEN, description="what had been answered")] = (
        ""
    )
    collection: CollectionName | None = None
    asked: Annotated[
        list[CollectionName] | None,
        Field(
            min_length=1,
            max_length=1000,
            description="the collections that were asked, if several; their marks of the question are replaced",
        ),
    ] = None


class MarkRow(BaseModel):
    """A mark."""

    id: str
    question: str
    answers: list[str]
    verdict: Verdict
    time: str
    document: str | None
    answer: str
    context: str
    title: str
    start: int
    given_answer: Annotated[str, Field(alias="given")]
    collection: str


class MarksRow(BaseModel):
    """All marks, oldest first, collection by collection."""

    marks: list[MarkRow]


def mark_router(collections: Mapping[str, ServedCollection], catalog: Catalog, read_only: bool) -> APIRouter:
    """Return the routes of marks."""
    router = APIRouter(prefix="/v1/marks", tags=["marks"])

    def need_writable_marks() -> None:
        if read_only:
            raise RefusedError(403, "this server takes no marks: it was started with --read-only")

    @router.get("", response_model=MarksRow, responses=problems_of(400, 401, 403, 404, 421, 422, 503))
    def marks(collection: Annotated[str | None, Query(max_length=64)] = None) -> Response:
        """Return all marks, of one collection or of all."""
        selected = chosen(collections, collection)
        rows = []
        for each in selected:
            with _marks_of(each, "read"):
                rows += [_row(each, mark) for mark in read_marks(each.index.folder)]
        return json_response({"marks": rows})

    @router.post("", response_model=MarkRow, responses=POSTED)
    def mark(body: MarkBody) -> Response:
        """Say whether an answer is right, or which one is. A mark replaces the previous one of an equal question."""
        need_writable_marks()
        place = body.document_id, body.start, body.end
        if [each is not None for each in place] != [body.verdict in ("right", "corrected")] * 3:
            raise RefusedError(400, "right and corrected name document_id, start and end; none and wrong leave them out")
        names = [body.collection] if body.asked is None else body.asked
        selected = [each for name in names for each in chosen(collections, name)]
        home = chosen(collections, body.collection)[0] if body.collection else selected[0]
        time = datetime.now(UTC).isoformat(timespec="seconds")
        mark = Mark(question_id(body.question), body.question, (), body.verdict, time, given_answer=body.given_answer)
        if body.document_id is not None and body.start is not None and body.end is not None:
            document = catalog.find(body.document_id, body.collection)
            home, mark = collections[document.collection], _placed(mark, document, body.start, body.end)
        _keep(mark, home, selected)
        return json_response(_row(home, mark))

    @router.delete("/{id}", status_code=204, responses=problems_of(400, 401, 403, 404, 421, 422, 429, 503))
    def forget(
        id: Annotated[str, Path(pattern="^[0-9a-f]{16}$")],
        collection: Annotated[str | None, Query(max_length=64)] = None,
    ) -> Response:
        """Remove the marks of a question, in one collection or in all."""
        need_writable_marks()
        is_removed = False
        for each in chosen(collections, collection):
            with _marks_of(each, "changed"):
                is_removed |= remove_mark(each.index.folder, id)
        if not is_removed:
            raise RefusedError(404, "there is no mark with this id")
        return Response(status_code=204)

    return router


@contextmanager
def _marks_of(collection: ServedCollection, done: str) -> Iterator[None]:
    """Turn failures with a collection's marks into a 503; the log names the file, which clients need not know."""
    try:
        yield
    except InputError as error:
        logging.getLogger(__name__).error("marks of %s: %s", collection.name, error)
        raise busy(f"the marks of {collection.name} cannot be {done}; the server's log says where") from None


def _keep(mark: Mark, home: ServedCollection, selected: Sequence[ServedCollection]) -> None:
    """Set a mark in its collection, and remove those of its question from the other selected collections."""
    with _marks_of(home, "changed"):
        set_mark(home.index.folder, mark)
    for each in selected:
        if each.index.folder.resolve() != home.index.folder.resolve():
            with _marks_of(each, "changed"):
                remove_mark(each.index.folder, mark.id)


def _placed(mark: Mark, document: CatalogDocument, start: int, end: int) -> Mark:
    """Return a mark with the range that answers, in its sentence and passage."""
    passages, _, _ = passages_between(document, None, None, start, 1)
    passage = next((each for each in passages if each.start <= start < end <= each.end), None)
    if passage is None or end - start > MOST_MARKED or not passage.text[start - passage.start : end - passage.start].strip():
        raise RefusedError(400, f"start and end are those of a text in one passage, of {MOST_MARKED:,} characters at most")
    sentence = touched_sentence(passage, start, end)
    return Mark(
        mark.id,
        mark.question,
        (passage.text[start - passage.start : end - passage.start],),
        mark.verdict,
        mark.time,
        document.key,
        sentence.text,
        passage.text,
        document.title,
        start - passage.start,
        mark.given_answer,
    )


def _row(collection: ServedCollection, mark: Mark) -> dict[str, Any]:
    return {**mark_json(mark), "collection": collection.name}
