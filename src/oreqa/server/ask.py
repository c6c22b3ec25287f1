"""Questions and searches over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from oreqa.answer import Answer
from oreqa.answering.explanation import NOTHING_SEARCHED, refusal
from oreqa.answering.reply import Reply
from oreqa.arguments import Conditions, conditions
from oreqa.as_json import hit_json
from oreqa.core import Hit, Passage, Sentence
from oreqa.index.folders import indexed_folders, listed_folders
from oreqa.server.batching import MOST_TOGETHER, ModelThread
from oreqa.server.collections import Merged, ServedCollection, chosen, merged
from oreqa.server.guard import Limiter, client_of, spend_or_refuse
from oreqa.server.links import answer_links
from oreqa.server.problems import json_response
from oreqa.server.schemas import (
    POSTED,
    AskBody,
    Asking,
    BatchBody,
    RankingRow,
    RepliesRow,
    ReplyRow,
    SearchBody,
)

_NO_WORD = "No document that meets the conditions holds a word of the question."

USUAL_ANSWERS = 3
"""Answers to a question without a requested number; one if a share is guaranteed."""

OnReply = Callable[[str, Reply | None], None]
"""Called with the collection and reply of each question; the reply is None for a search."""

Left = Callable[[], asyncio.Future[None]]
"""Returns a future that is done when the client has left."""

Linked = Callable[[Passage, Sentence, int, int, str, int], dict[str, Any]]
"""Returns the links of a range of a passage and its sentence, in a collection's state: ``answer_links``."""


def ask_router(
    collections: Mapping[str, ServedCollection],
    models: ModelThread,
    limiter: Limiter,
    on_reply: OnReply,
    sites: Mapping[str, str],
) -> APIRouter:
    """Return the routes that answer questions; ``sites`` are those of published folders."""
    linked = partial(answer_links, sites=sites, several=len(collections) > 1)
    router = APIRouter(prefix="/v1", tags=["answers"])

    @router.post("/ask", response_model=ReplyRow, responses=POSTED)
    async def ask(body: AskBody, request: Request) -> Response:
        """Answer a question with the sentence, the passage and the place that prove it."""
        (reply,) = await replies_to([body.question], body, collections, models, on_reply, partial(_left, request))
        return json_response(await run_in_threadpool(reply_row, body.question, reply, linked))

    @router.post("/batch", response_model=RepliesRow, responses=POSTED)
    async def batch(body: BatchBody, request: Request) -> Response:
        """Answer up to 100 questions. Questions of other clients may be answered in between."""
        spend_or_refuse(limiter, client_of(request.scope), len(body.questions) - 1)
        rows: list[dict[str, Any]] = []
        for begin in range(0, len(body.questions), MOST_TOGETHER):
            questions = body.questions[begin : begin + MOST_TOGETHER]
            replies = await replies_to(questions, body, collections, models, on_reply, partial(_left, request))
            rows += await run_in_threadpool(reply_rows, questions, replies, linked)
        return json_response({"replies": rows})

    @router.post("/search", response_model=RankingRow, responses=POSTED)
    async def search(body: SearchBody, request: Request) -> Response:
        """Return the sentences or passages that match a question best."""
        hits, states = await hits_for(body, collections, models, on_reply, partial(_left, request))
        row = {"question": body.question, "mode": body.mode, "unit": body.unit, "generations": states}
        if not hits:
            note = await run_in_threadpool(folders_note, chosen(collections, body.collection), conditions(body.where))
            reason = _NO_WORD if body.mode == "sparse" else NOTHING_SEARCHED
            row["reason"] = " ".join(filter(None, (reason, note)))
        return json_response({**row, "hits": await run_in_threadpool(hit_rows, hits, linked)})

    return router


async def replies_to(
    questions: Sequence[str],
    body: Asking,
    collections: Mapping[str, ServedCollection],
    models: ModelThread,
    on_reply: OnReply,
    left: Left | None = None,
) -> list[Merged]:
    """Return the replies to questions, in order. Invalid requests are refused before they queue."""
    selected, where = chosen(collections, body.collection), conditions(body.where)
    k = body.k or (1 if any(each.promise for each in selected) else USUAL_ANSWERS)
    for each in selected:
        each.check(k, body.threshold)
    works = {each.name: partial(each.ask, k=k, where=where, threshold=body.threshold) for each in selected}
    replies = await _ask_collections(works, (k, where, body.threshold), questions, models, left)
    together = []
    for place, question in enumerate(questions):
        question_replies = {name: collection_replies[place] for name, collection_replies in replies.items()}
        for reply in question_replies.values():
            on_reply(question, reply)
        together.append(merged(question_replies, k))
    if not any(reply.hits for each in together for reply in each.replies.values()):
        note = await run_in_threadpool(folders_note, selected, where)
        together = [replace(each, note=note) for each in together]
    return together


def folders_note(selected: Sequence[ServedCollection], where: Conditions) -> str:
    """Return the folders of collections that have no document in the paths of the conditions; empty without a path."""
    if not any(field == "path" for field, _ in where):
        return ""
    folders = set[str]()
    for each in selected:
        snapshot = each.index.snapshot()
        with snapshot.reading():
            folders.update(indexed_folders(snapshot.select))
    return f"The folders are: {listed_folders(sorted(folders))}." if folders else ""


async def hits_for(
    body: SearchBody,
    collections: Mapping[str, ServedCollection],
    models: ModelThread,
    on_reply: OnReply,
    left: Left | None = None,
) -> tuple[list[tuple[Hit, str, int]], dict[str, int]]:
    """Return the hits of a search with their collections and states, ordered by score, and the state of each collection."""
    selected, where = chosen(collections, body.collection), conditions(body.where)
    works = {each.name: partial(each.search, k=body.k, where=where, mode=body.mode, unit=body.unit) for each in selected}
    rankings = await _ask_collections(works, (body.k, where, body.mode, body.unit), [body.question], models, left)
    hits = [(hit, name, state) for name, [(state, ranking)] in rankings.items() for hit in ranking]
    if len(rankings) > 1:
        hits.sort(key=lambda row: -row[0].score)
    on_reply(body.question, None)
    return hits[: body.k], {name: state for name, [(state, _)] in rankings.items()}


async def _ask_collections(
    works: Mapping[str, Callable[[Sequence[str]], Sequence[Any]]],
    alike: Hashable,
    questions: Sequence[str],
    models: ModelThread,
    left: Left | None,
) -> dict[str, list[Any]]:
    """Return the results of each collection's work on the questions, which are ``alike`` except for their words."""
    results = await models.ask_all({(name, alike): work for name, work in works.items()}, questions, left)
    return {name: results[name, alike] for name in works}


def _left(request: Request) -> asyncio.Future[None]:
    """Return a future that is done when the client has left."""

    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            continue

    return asyncio.ensure_future(wait())


def reply_rows(questions: Sequence[str], replies: Sequence[Merged], linked: Linked) -> list[dict[str, Any]]:
    """Return replies to questions as JSON."""
    return [reply_row(question, reply, linked) for question, reply in zip(questions, replies, strict=True)]


def reply_row(question: str, reply: Merged, linked: Linked) -> dict[str, Any]:
    """Return a reply as JSON, with links in its answers and hits. Links may access the disk: not for the event loop."""
    row = {
        "question": question,
        "found": bool(reply.answers),
        "calibrated": all(each.calibrated for each in reply.replies.values()),
        "answers": [_answer_row(*answer, linked) for answer in reply.answers],
        "respelt": {word: written for each in reply.replies.values() for word, written in each.respelt.items()},
        "generations": {name: each.generation for name, each in reply.replies.items()},
    }
    if reply.guess is not None:
        row["guess"] = _answer_row(*reply.guess, linked)
    if not reply.answers:
        row["reason"] = reason_of(question, reply)
        row["nearest"] = hit_rows(reply.nearest, linked)
    return row


def reason_of(question: str, reply: Merged) -> str | None:
    """Return why a question has no answer; None if it has one."""
    if reply.answers:
        return None
    name = reply.guess[1] if reply.guess else next(iter(reply.replies))
    return " ".join(filter(None, (refusal(question, reply.replies[name]), reply.note)))


def _answer_row(answer: Answer, collection: str, generation: int, linked: Linked) -> dict[str, Any]:
    links = linked(answer.passage, answer.sentence, answer.start, answer.end, collection, generation)
    return {**answer.to_dict(), **links}


def hit_rows(hits: Sequence[tuple[Hit, str, int]], linked: Linked) -> list[dict[str, Any]]:
    """Return hits, best first, as JSON with links."""
    return [hit_row(rank, *hit, linked) for rank, hit in enumerate(hits, 1)]


def hit_row(rank: int, hit: Hit, collection: str, generation: int, linked: Linked) -> dict[str, Any]:
    """Return a hit as JSON with links."""
    sentence = hit.sentence
    links = linked(hit.passage, sentence, sentence.start, sentence.end, collection, generation)
    return {**hit_json(rank, hit), **links}
