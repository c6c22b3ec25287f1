"""The tools for assistants, over the Model Context Protocol: search, fetch and ask.

Importing the protocol's package takes most of a second: only the commands that use it import this module.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.routing import Match, Route

from oreqa.arguments import conditions
from oreqa.core import Hit
from oreqa.errors import OreqaError
from oreqa.server.ask import OnReply, folders_note, hits_for, reason_of, replies_to
from oreqa.server.batching import ModelThread
from oreqa.server.catalog import Catalog
from oreqa.server.collections import Merged, ServedCollection
from oreqa.server.guard import MAX_BODY
from oreqa.server.metrics import begin_log
from oreqa.server.problems import RefusedError, faults_of, safe, safe_values
from oreqa.server.schemas import AskBody, CollectionName, QuestionText, SearchBody, WhereBody
from oreqa.server.tool_results import (
    QUOTED,
    Addressed,
    AskResult,
    FetchResult,
    SearchResult,
    answer_result,
    fetched,
    passage_result,
    tool_links,
)

MCP_PATH = "/mcp"

MOST_PASSAGES, MOST_TOOL_ANSWERS = 10, 10
"""Passages that ``search`` returns, and the most answers that ``ask`` returns."""

MOST_NAMES = 200
"""Characters of collection names in the description of ``ask``, which fills the model's context at every turn."""

INSTRUCTIONS = (
    "Answers and passages from the user's documents, with the place that proves each. ask: a question with a short answer. "
    "search: passages on a subject. fetch: the text around a result. If ask does not answer, the documents probably do not "
    f"say it: tell the user so, and do not guess. Cite title and url. {QUOTED}"
)

SEARCH = f"Find the passages of the user's documents that match a query best. {QUOTED}"
FETCH = f"Read a document, or the part around a result, by its id. {QUOTED}"
ASK = (
    "Answer a question from the user's documents: the words that answer it, the sentence that proves them, and how sure it "
    f"is. answered is false where the documents probably do not say it. {QUOTED}"
)

PathIn = Annotated[str | None, Field(description="a folder or file")]

_READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class OreqaMcpServer(MCPServer[Any]):
    """A server whose errors are one line with the remedy, and that refuses arguments it would ignore."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError for what the caller can fix, UnexpectedToolError for a bug of ours."""
        names = {tool.name: list(tool.input_schema["properties"]) for tool in await self.list_tools()}
        if name not in names:
            raise ToolError(safe(f"there is no tool {name[:80]!r}; there are: {', '.join(names)}"))
        for key in arguments:
            if key not in names[name]:
                raise ToolError(safe(f"{name} takes no {key[:80]!r}; it takes: {', '.join(names[name])}"))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, OreqaError | RefusedError):
                raise ToolError(safe(" ".join(str(cause).split()))) from None
            if isinstance(cause, ValidationError):
                fault = next(iter(faults_of(cause.errors())))
                raise ToolError(safe(f"{fault['where']}: {fault['what']}")) from None
            raise UnexpectedToolError(f"{name} failed, which it should not have; oreqa's log says where") from cause


def create_mcp_server(
    collections: Mapping[str, ServedCollection],
    models: ModelThread,
    on_reply: OnReply,
    *,
    base_url: str = "",
    sites: Mapping[str, str] | None = None,
) -> OreqaMcpServer:
    """Return the server of the three tools.

    URLs in results lead to the sites of published folders; otherwise to the ``base_url`` of a server of these
    collections, or to the requested host; and to files if the request did not come over HTTP.
    """
    catalog, several = Catalog(collections), len(collections) > 1
    names = f"The collections are: {_listed(list(collections))}. " if several else ""

    def addressed(context: Context[Any, Any]) -> Addressed:
        return partial(tool_links, sites=sites or {}, several=several, base=base_url or _asked_host(context))

    async def search(query: QuestionText, context: Context[Any, Any], path: PathIn = None) -> SearchResult:
        body = SearchBody(question=query, k=MOST_PASSAGES, unit="passage", where=_where(path))
        hits, _ = await hits_for(body, collections, models, on_reply)
        if path and not hits:
            note = await run_in_threadpool(folders_note, [*collections.values()], conditions(body.where))
            raise RefusedError(404, f"path: no document is there. {note}")
        rows = await run_in_threadpool(_passages, hits, addressed(context))
        return SearchResult.model_validate(safe_values({"results": rows}))

    def fetch(id: Annotated[str, Field(max_length=200)], context: Context[Any, Any]) -> FetchResult:
        return FetchResult.model_validate(safe_values(fetched(id, catalog, addressed(context))))

    async def ask(
        question: QuestionText,
        context: Context[Any, Any],
        limit: Annotated[int | None, Field(ge=1, le=MOST_TOOL_ANSWERS, description="3 if left out")] = None,
        collection: Annotated[CollectionName | None, Field(description="all if left out")] = None,
        path: PathIn = None,
    ) -> AskResult:
        body = AskBody(question=question, k=limit, collection=collection, where=_where(path))
        (reply,) = await replies_to([question], body, collections, models, on_reply)
        row = await run_in_threadpool(_reply, question, reply, addressed(context))
        return AskResult.model_validate(safe_values(row))

    tools = [_tool(search, SEARCH), _tool(fetch, FETCH), _tool(ask, f"{names}{ASK}")]
    return OreqaMcpServer(
        "oreqa", version=version("oreqa"), instructions=INSTRUCTIONS, tools=tools, subscriptions=False, log_level="WARNING"
    )


def _where(path: str | None) -> WhereBody:
    return {"path": path} if path else {}


def _passages(hits: Sequence[tuple[Hit, str, int]], addressed: Addressed) -> list[dict[str, Any]]:
    return [passage_result(hit, name, addressed) for hit, name, _ in hits]


def _reply(question: str, reply: Merged, addressed: Addressed) -> dict[str, Any]:
    return {
        "answered": bool(reply.answers),
        "answers": [answer_result(answer, name, addressed) for answer, name, _ in reply.answers],
        "reason": reason_of(question, reply),
        "nearest": _passages(reply.nearest, addressed),
    }


def _listed(names: Sequence[str]) -> str:
    """Return the first names that fit, and the number of the rest."""
    length, shown = 0, 0
    while shown < len(names) and (length := length + len(names[shown]) + len(", ")) <= MOST_NAMES:
        shown += 1
    others = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {others} others" if others else "")


def _asked_host(context: Context[Any, Any]) -> str:
    """Return the server address of a request, checked by the guard; empty without HTTP."""
    headers = context.headers or {}
    scheme = "https" if headers.get("x-forwarded-proto") == "https" else "http"
    return f"{scheme}://{headers['host']}" if "host" in headers else ""


def _tool(function: Callable[..., Any], description: str) -> Tool:
    """Return a tool whose schemas say only what a model needs: they fill its context at every turn."""
    tool = Tool.from_function(function, description=description, annotations=_READ_ONLY)
    tool.parameters = {**_plain(tool.parameters), "additionalProperties": False}
    results = _plain(tool.fn_metadata.output_schema)
    for schema in (results, *results.get("$defs", {}).values()):
        del schema["required"]  # results always have every key
    tool.fn_metadata.output_schema = results
    return tool


def _plain(schema: Any) -> Any:
    """Return a JSON schema without titles, examples, and the null type of optional arguments."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if set(schema) == {"anyOf", "title"} and all(set(each) == {"type"} for each in schema["anyOf"]):
        return {"type": [each["type"] for each in schema["anyOf"]]}
    dropped = {"title": str, "examples": list}  # also names of properties, which have schemas
    kept = {key: _plain(value) for key, value in schema.items() if not isinstance(value, dropped.get(key, ()))}
    if "default" in kept and kept["default"] is None:
        del kept["default"]
        kept |= next(each for each in kept.pop("anyOf") if each != {"type": "null"})
    return kept


def run_on_stdio(
    collections: Mapping[str, ServedCollection], *, base_url: str = "", sites: Mapping[str, str] | None = None
) -> None:
    """Speak the protocol over standard input and output until the input ends or the output is closed."""
    begin_log().setLevel(logging.WARNING)
    models = ModelThread()
    server = create_mcp_server(collections, models, lambda _, __: None, base_url=base_url, sites=sites)
    models.start()
    try:
        server.run("stdio")
    except* BrokenPipeError:
        pass
    finally:
        models.stop()


class _NamedRoute(Route):
    """A route that reports itself to request metrics, as FastAPI's own do."""

    def matches(self, scope: MutableMapping[str, Any]) -> tuple[Match, MutableMapping[str, Any]]:
        match, child = super().matches(scope)
        return match, child if match is Match.NONE else {**child, "route": self}


def mcp_route(server: OreqaMcpServer, hosts: Collection[str]) -> Route:
    """Return the route of the protocol for these hosts, valid while ``server.session_manager`` runs.

    It is stateless: there is no stream to GET and no session to DELETE.
    """
    security = TransportSecuritySettings(
        allowed_hosts=sorted(hosts),
        allowed_origins=[f"{scheme}://{host}" for scheme in ("http", "https") for host in sorted(hosts)],
    )
    application = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        stateless_http=True,
        json_response=True,
        transport_security=security,
        max_request_body_size=MAX_BODY,
    )
    (route,) = application.routes
    assert isinstance(route, Route)
    return _NamedRoute(MCP_PATH, route.endpoint, methods=["POST"])
