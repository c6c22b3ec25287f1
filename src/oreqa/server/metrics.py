"""A server's metrics in Prometheus' format, and its log: one JSON object per line, without questions and names."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from oreqa.answering.reply import Reply
from oreqa.server.guard import Application, Message, Receive, Send

LOGGER = "oreqa.server"

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The metrics of one server; ``waiting`` returns the number of waiting questions. NaN in ``generations`` means none."""

    def __init__(self, waiting: Callable[[], int], generations: Mapping[str, Callable[[], float]]) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "oreqa_requests_total", "Requests by address and status.", ["address", "status"], registry=registry
        )
        self._seconds = Histogram(
            "oreqa_request_seconds", "Seconds from request to answer.", ["address"], buckets=_SECONDS, registry=registry
        )
        self._questions = Counter("oreqa_questions_total", "Questions by what came of them.", ["outcome"], registry=registry)
        self._batch = Histogram(
            "oreqa_batch_questions", "Questions answered together.", buckets=(1, 2, 4, 8, 16), registry=registry
        )
        self._model_seconds = Counter("oreqa_model_seconds_total", "Seconds that the models ran.", registry=registry)
        queue = Gauge("oreqa_waiting_questions", "Questions that wait.", registry=registry)
        queue.set_function(waiting)
        state = Gauge("oreqa_generation", "The number of the state of each index.", ["collection"], registry=registry)
        for name, generation in generations.items():
            state.labels(name).set_function(generation)

    def request(self, address: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(address, str(status)).inc()
        self._seconds.labels(address).observe(seconds)

    def reply(self, reply: Reply | None) -> None:
        """Count a question by its reply; None for a search."""
        outcome = "searched" if reply is None else "answered" if reply.answers else "refused"
        self._questions.labels(outcome).inc()

    def batch(self, questions: int, seconds: float) -> None:
        """Count a batch of the models."""
        self._batch.observe(questions)
        self._model_seconds.inc(seconds)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' format."""
        return generate_latest(self._registry)


class Observer:
    """Counts and logs each request by the pattern of its route, without ids, questions and names."""

    def __init__(self, application: Application, metrics: Metrics) -> None:
        self._application, self._metrics = application, metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        started, status = time.monotonic(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._application(scope, receive, send_and_note)
        finally:
            seconds = time.monotonic() - started
            route = scope.get("route")
            address = str(getattr(route, "path", "other"))
            self._metrics.request(address, status, seconds)
            details = {"method": scope["method"], "address": address, "status": status, "seconds": round(seconds, 4)}
            logging.getLogger(LOGGER).info("request", extra={"details": details})


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON. Exceptions keep type and location only: their text may contain a question."""

    def format(self, record: logging.LogRecord) -> str:
        row: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "message": record.getMessage() if record.exc_info is None else "error",
            **getattr(record, "details", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            row["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            row["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-10:]]
        return json.dumps(row)


def begin_log() -> logging.Logger:
    """Set up the server's log on standard error, including warnings and errors of all libraries."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    return logger
