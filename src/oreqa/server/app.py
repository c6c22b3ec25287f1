"""The application: its routes, and its life cycle from the loaded models to the last answer."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from oreqa.answering.reply import Reply
from oreqa.errors import OreqaError
from oreqa.index.generations import generation_number
from oreqa.models.names import shown_name
from oreqa.server.ask import ask_router
from oreqa.server.batching import ModelThread
from oreqa.server.catalog import Catalog
from oreqa.server.collections import ServedCollection
from oreqa.server.documents import document_router
from oreqa.server.drawing import Drawer
from oreqa.server.explaining import explain_router
from oreqa.server.following import Follower, status_of
from oreqa.server.guard import Application, Guard, Limiter, cookie_of, same_secret, session_of
from oreqa.server.marks import mark_router
from oreqa.server.mcp_server import create_mcp_server, mcp_route
from oreqa.server.metrics import LOGGER, Metrics, Observer
from oreqa.server.pages import page_router
from oreqa.server.problems import RefusedError, add_handlers, busy, json_response
from oreqa.server.schemas import LoginBody, ProblemRow, problems_of
from oreqa.server.settings import Access
from oreqa.server.static import static_router
from oreqa.server.uploads import MAX_UPLOAD, UPLOADS_PATH, upload_router


def create_app(
    collections: Mapping[str, ServedCollection],
    access: Access,
    *,
    sites: Mapping[str, str] | None = None,
    followers: Mapping[str, Follower] | None = None,
    uploads: Path | None = None,
    log_questions: bool = False,
) -> Application:
    """Return the server's application, with its guard.

    The thread of the models and the ``followers``, which keep collections in sync with their folders, start and end with it.
    ``sites`` maps folders of documents to the addresses where they are published; ``uploads`` is the folder for uploaded
    files.
    """
    followers = followers or {}
    models = ModelThread(lambda questions, seconds: metrics.batch(questions, seconds))
    metrics = Metrics(lambda: models.waiting, {name: _generation_of(each) for name, each in collections.items()})
    limiter, drawer = Limiter(access.rate), Drawer()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        models.start()
        for follower in followers.values():
            follower.start()
        async with mcp_server.session_manager.run():
            yield
        for follower in followers.values():
            follower.stop()
        models.stop()
        drawer.close()

    def on_reply(question: str, reply: Reply | None) -> None:
        metrics.reply(reply)
        if log_questions:
            logging.getLogger(LOGGER).info("question", extra={"details": {"question": question}})

    app = FastAPI(
        title="oreqa",
        version=version("oreqa"),
        summary="Answers from documents, with the evidence",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    add_handlers(app)
    app.include_router(ask_router(collections, models, limiter, on_reply, sites or {}))
    app.include_router(explain_router(collections, models, sites or {}))
    catalog = Catalog(collections)
    app.include_router(document_router(collections, catalog))
    app.include_router(page_router(catalog, drawer, Limiter(access.rate)))
    app.include_router(mark_router(collections, catalog, access.read_only))
    if uploads is not None:
        app.include_router(upload_router(uploads, access.read_only))
    app.include_router(static_router())
    _add_status(app, collections, models, metrics, access, followers, takes_files=uploads is not None)
    _add_login(app, access)
    mcp_server = create_mcp_server(collections, models, on_reply, sites=sites)
    app.router.routes.append(mcp_route(mcp_server, access.hosts))
    _describe_problems(app)
    return Observer(Guard(app, access, limiter, {UPLOADS_PATH: MAX_UPLOAD} if uploads else {}), metrics)


def _generation_of(collection: ServedCollection) -> Callable[[], float]:
    def number() -> float:
        try:
            return generation_number(collection.index.snapshot().generation)
        except OreqaError:
            return math.nan

    return number


def _add_status(
    app: FastAPI,
    collections: Mapping[str, ServedCollection],
    models: ModelThread,
    metrics: Metrics,
    access: Access,
    followers: Mapping[str, Follower],
    takes_files: bool,
) -> None:
    """Add the routes that report the server's status."""

    @app.get("/healthz", tags=["server"], responses=problems_of(403, 421))
    async def healthz() -> dict[str, str]:
        """Return ok while the server runs."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["server"], responses=problems_of(403, 421, 503))
    def readyz() -> dict[str, str]:  # in a thread: it may wait for an index
        """Return ok if the server answers questions: its models run, and every index can be read."""
        if not models.is_alive:
            raise busy("the models do not run")
        for collection in collections.values():
            try:
                collection.index.snapshot()
            except OreqaError:
                raise busy(f"the index of {collection.name} cannot be read") from None
        return {"status": "ok"}

    @app.get("/metrics", tags=["server"], response_class=Response, responses=problems_of(401, 403, 421, 429))
    def numbers() -> Response:
        """Return the server's metrics for Prometheus. The generation of an index that cannot be read is NaN."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/v1/status", tags=["server"], responses=problems_of(401, 403, 421, 429, 503))
    def status() -> Response:
        """Return the collections, and what the server is doing."""
        return json_response(
            {
                "version": app.version,
                "collections": [
                    {**_status_of(collection), "watch": status_of(followers, name)}
                    for name, collection in collections.items()
                ],
                "waiting": models.waiting,
                "read_only": access.read_only,
                "uploads": takes_files and not access.read_only,
                "login": access.token is not None,
            }
        )


def _status_of(collection: ServedCollection) -> dict[str, Any]:
    snapshot, reader = collection.index.snapshot(), collection.answerer.reader
    calibration = collection.answerer.calibration
    lowest = calibration.threshold if calibration and collection.threshold is None else collection.threshold
    with snapshot.reading():
        return {
            "name": collection.name,
            "generation": generation_number(snapshot.generation),
            "updated": snapshot.generation.stat().st_mtime,
            "documents": snapshot.count_documents(),
            "passages": snapshot.engine.counts["passage"],
            "sentences": snapshot.engine.counts["sentence"],
            "model": snapshot.settings.model,
            "reader": None if reader is None else shown_name(reader.folder.path),
            "reads": collection.answerer.passages if collection.answerer.reader else None,
            "calibrated": calibration is not None,
            "threshold": lowest,
        }


def _add_login(app: FastAPI, access: Access) -> None:
    """Add the routes that exchange a token for a cookie, which the pages send by themselves and no script can read."""

    @app.post("/login", tags=["server"], status_code=204, responses=problems_of(400, 401, 403, 408, 413, 415, 421, 422, 429))
    async def login(body: LoginBody, request: Request) -> Response:
        """Sign in with the server's token."""
        if access.token is None or not same_secret(body.token, access.token):
            raise RefusedError(401, "this is not the server's token" if access.token else "this server asks for no token")
        response = Response(status_code=204)
        secure = request.headers.get("x-forwarded-proto") == "https" or request.url.scheme == "https"
        response.set_cookie(
            cookie_of(access.token), session_of(access.token), httponly=True, samesite="strict", secure=secure
        )
        return response

    @app.post("/logout", tags=["server"], status_code=204, responses=problems_of(403, 421, 429))
    async def logout() -> Response:
        """Sign out."""
        response = Response(status_code=204)
        if access.token is not None:
            response.delete_cookie(cookie_of(access.token), httponly=True, samesite="strict")
        return response


def _describe_problems(app: FastAPI) -> None:
    """Add the schema of errors to the API description, which refers to it at every route."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        described = plain()
        described["components"]["schemas"][ProblemRow.__name__] = ProblemRow.model_json_schema()
        return described

    app.openapi = openapi  # type: ignore[method-assign]
