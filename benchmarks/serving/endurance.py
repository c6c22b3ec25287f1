"""Sends many requests, valid and invalid: which statuses come back, and how does the server's memory grow?

Run:  python benchmarks/serving/endurance.py --data ../shared/data --work runs/serving

One request in ten asks a question; the others read documents, are refused or are invalid. Memory is compared between
a fifth of the requests and all of them. A server error is wrong unless it is a 503 that says when to retry; so is any status
that the kind of request must not have.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.served import Client, by_clients, paragraph_index, server_of

CLIENTS, PARTS = 16, 5
CLOSED = 0
"""Instead of a status: the server closed the connection."""

Request = tuple[str, str, Any, dict[str, str], frozenset[int]]
"""Method, address, body, headers, and the valid statuses."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("runs/serving"))
    parser.add_argument("--paragraphs", type=int, default=300)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    index, questions = paragraph_index(options.data, options.work, options.paragraphs)
    rng, memory, statuses, wrong = random.Random(options.seed), list[float](), Counter[str](), Counter[str]()
    with server_of(index, options.work) as server:
        listed = json.loads(Client(server.port).request("GET", "/v1/documents?limit=100")[1])["documents"]
        ids = [row["id"] for row in listed]
        for _ in range(PARTS):
            requests = [drawn(questions, ids, rng) for _ in range(options.requests // PARTS)]
            for (method, path, *_, right), status in by_clients_of(server.port, requests):
                statuses[str(status)] += 1
                if status not in right and status != 503:
                    wrong[f"{method} {path.partition('/documents/')[0]}: {status}"] += 1
            memory.append(round(server.resident_mb(), 1))
            print(memory, dict(statuses), dict(wrong), flush=True)
    figures = {"requests": options.requests, "seed": options.seed, "load": round(os.getloadavg()[0], 1)}
    growth = round(100 * (memory[-1] / memory[0] - 1), 2)
    counts = {"statuses": dict(sorted(statuses.items())), "wrong": dict(wrong)}
    report("serving/endurance", {**figures, "resident_mb": memory, "growth_percent": growth, **counts})


def by_clients_of(port: int, requests: list[Request]) -> list[tuple[Request, int]]:
    """Return each request with its status."""

    def send(client: Client, request: Request) -> int:
        method, path, body, headers, _ = request
        try:
            return client.request(method, path, body, headers)[0]
        except ConnectionError:
            client.close()
            return CLOSED

    return list(zip(requests, by_clients(port, CLIENTS, requests, send), strict=True))


def drawn(questions: list[str], ids: list[str], rng: random.Random) -> Request:
    """Return a random request: one in ten asks."""
    if rng.random() < 0.1:
        return "POST", "/v1/ask", {"question": rng.choice(questions), "k": rng.choice((1, 3))}, {}, frozenset({200})
    document = f"/v1/documents/{rng.choice(ids)}"
    return rng.choice(
        (
            ("GET", "/healthz", None, {}, frozenset({200})),
            ("GET", "/v1/status", None, {}, frozenset({200})),
            ("GET", "/v1/documents?limit=10", None, {}, frozenset({200})),
            ("GET", document, None, {}, frozenset({200})),
            ("GET", f"{document}/text?around=100", None, {}, frozenset({200})),
            ("GET", f"{document}/pages/1", None, {}, frozenset({404})),
            ("GET", "/v1/documents/0123456789abcdef", None, {}, frozenset({404})),
            ("GET", "/d/0123456789abcdef", None, {}, frozenset({200})),
            ("POST", "/v1/ask", "{", {}, frozenset({400})),
            ("POST", "/v1/ask", {"question": "?"}, {}, frozenset({422})),
            ("POST", "/v1/ask", {"question": "x" * 70_000}, {}, frozenset({413})),
            ("GET", "/v1/status", None, {"Host": "evil.example"}, frozenset({421})),
            ("POST", "/v1/ask", {"question": "hearts?"}, {"Origin": "http://evil.example"}, frozenset({403})),
        )
    )


if __name__ == "__main__":
    main()
