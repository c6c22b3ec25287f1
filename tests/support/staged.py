"""A server whose replies tests can set: what the page shows is then that of the state they want."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import httpx

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Canned:
    """A reply in place of the server's own."""

    row: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class ReceivedRequest:
    """A request to the server."""

    method: str
    address: str
    body: Any


class Stage:
    """Stands before a server: sends what is ``canned`` for a path, and keeps the ``requests`` that came."""

    def __init__(self) -> None:
        self.canned: dict[str, Canned] = {}
        self.requests: list[ReceivedRequest] = []

    def last(self, path: str) -> Any:
        """The body of the last request to a path."""
        return [each.body for each in self.requests if each.address.partition("?")[0] == path][-1]

    def wrap(self, application: Application) -> Application:
        async def staged(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            message = await receive()
            body, query = message.get("body", b""), scope["query_string"].decode()
            address = scope["path"] + (f"?{query}" if query else "")
            self.requests.append(ReceivedRequest(scope["method"], address, json.loads(body) if body else None))
            canned = self.canned.get(scope["path"])
            if canned is None:
                rest = [message]

                async def again() -> MutableMapping[str, Any]:
                    return rest.pop() if rest else await receive()

                await application(scope, again, send)
                return
            await asyncio.sleep(canned.delay)
            headers = {"content-type": "application/json", **canned.headers}
            raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": canned.status, "headers": raw})
            await send({"type": "http.response.body", "body": json.dumps(canned.row).encode()})

        return staged


def answer_row(
    client: httpx.Client, document: str, words: str, confidence: float | None = 0.82, **changes: Any
) -> dict[str, Any]:
    """An answer as the server gives it: a text of one of its documents, by the end of the document's key."""
    (listed,) = [row for row in client.get("/v1/documents").json()["documents"] if row["document"].endswith(document)]
    passages = client.get(f"/v1/documents/{listed['id']}/text").json()["passages"]
    passage = next(row for row in passages if words in row["text"])
    start = passage["start"] + passage["text"].index(words)
    before, _, after = passage["text"].partition(words)
    sentence = (
        before.rpartition(". ")[2].rpartition("\n")[2]
        + words
        + ("" if words.endswith(".") else f"{after.partition('.')[0]}.")
    )
    begin = passage["start"] + passage["text"].index(sentence)
    place = {**passage["place"], "document_id": listed["id"]}
    return {
        "text": words,
        "start": start,
        "end": start + len(words),
        "whole_text": words,
        "spans": [],
        "confidence": confidence,
        "certainty": "not calibrated" if confidence is None else "sure" if confidence >= 0.7 else "likely",
        "score": 1.0,
        "document": listed["document"],
        "title": listed["title"],
        "heading": passage["heading"],
        "place": place,
        "sentence": {"text": sentence, "start": begin, "end": begin + len(sentence)},
        "passage": {name: passage[name] for name in ("text", "start", "end")},
        "form": "text",
        "block": None,
        "computation": None,
        "newer": None,
        "contradicted_by": None,
        "fields": {},
        "scores": {},
        "id": f"{listed['id']}:{start}-{start + len(words)}",
        "url": f"/d/{listed['id']}#c={start}-{start + len(words)}",
        "link": None,
        "citation": f"“{sentence}” ({listed['title']})",
        "collection": listed["collection"],
        "generation": listed["generation"],
        **changes,
    }


def reply_row(question: str, *answers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A reply as the server gives it."""
    return {
        "question": question,
        "found": bool(answers),
        "calibrated": True,
        "answers": list(answers),
        "respelt": {},
        "generations": {"shelf": 1},
        **changes,
    }
