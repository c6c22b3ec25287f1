"""Explains answers over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, StrictStr
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from oreqa.answering.explanation import Explanation, Stage
from oreqa.answering.replies import explanation_json
from oreqa.arguments import Conditions, conditions
from oreqa.server.ask import Linked
from oreqa.server.batching import ModelThread
from oreqa.server.collections import ServedCollection, chosen
from oreqa.server.links import answer_links
from oreqa.server.problems import json_response
from oreqa.server.schemas import POSTED, AnswerRow, Body, CollectionName, HitRow, QuestionText, WhereBody


class ExplainBody(Body):
    """A question, and optionally the right answer as written in the documents, to find the stage that lost it."""

    question: QuestionText
    expected: Annotated[StrictStr, Field(min_length=1, max_length=1000)] | None = None
    where: Annotated[WhereBody, Field(default_factory=dict, max_length=20)]
    collection: Annotated[CollectionName | None, Field(description="the first if left out")] = None


class RankedRow(HitRow):
    """A hit of the search: its ranks by each score, whether it was read, and the best answer in it."""

    ranks: dict[str, int]
    was_read: bool
    lacks_names: bool
    holds_expected: bool
    answer: str | None


class ExpectedRow(BaseModel):
    """One occurrence of the expected answer, which may stand there by chance: its passage's rank, and its place."""

    rank: int
    document: str
    address: str
    start: int
    end: int
    sentence: str
    other_ranks: list[int]


class ExplanationRow(BaseModel):
    """Which stage decided the answers to a question, and each stage's output."""

    question: str
    stage: Stage
    reason: str
    next_step: str
    respelt: dict[str, str]
    absent_words: list[str]
    unread_words: list[str]
    threshold: float | None
    log_odds: dict[str, float]
    expected_place: ExpectedRow | None
    answers: list[AnswerRow]
    hits: list[RankedRow]


def explain_router(collections: Mapping[str, ServedCollection], models: ModelThread, sites: Mapping[str, str]) -> APIRouter:
    """Return the route that explains answers; ``sites`` are those of published folders."""
    router = APIRouter(prefix="/v1", tags=["answers"])
    linked = partial(answer_links, sites=sites, several=len(collections) > 1)

    @router.post("/explain", response_model=ExplanationRow, responses=POSTED)
    async def explain(body: ExplainBody) -> Response:
        """Explain how the answers to a question came about, stage by stage, in one collection."""
        collection, where = chosen(collections, body.collection)[0], conditions(body.where)
        work = partial(_explained, collection, body.expected, where)
        [explanation] = await models.ask((collection.name, "explain", body.expected, where), work, [body.question])
        return json_response(await run_in_threadpool(_row, explanation, collection.name, linked))

    return router


def _row(explanation: Explanation, collection: str, linked: Linked) -> dict[str, Any]:
    """Return an explanation as JSON, with links in its answers and hits."""
    row, state = explanation_json(explanation), explanation.generation
    for each, answer in zip(row["answers"], explanation.answers, strict=True):
        each.update(linked(answer.passage, answer.sentence, answer.start, answer.end, collection, state))
    for each, ranked in zip(row["hits"], explanation.hits, strict=True):
        passage, sentence = ranked.hit.passage, ranked.hit.sentence
        each.update(linked(passage, sentence, sentence.start, sentence.end, collection, state))
    return row


def _explained(
    collection: ServedCollection, expected: str | None, where: Conditions, questions: Sequence[str]
) -> list[Explanation]:
    answerer, threshold = collection.answerer, collection.threshold
    return [answerer.explain(question, expected, where=where, threshold=threshold) for question in questions]
