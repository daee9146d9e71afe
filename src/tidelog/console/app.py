"""Makes the application: the pages, what guards them, and the files that run in the browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from tidelog.console.access import Guard
from tidelog.console.connection import ClusterConnection
from tidelog.console.feeds import Feeds
from tidelog.console.pages import ROUTERS
from tidelog.console.parts import ConsoleParts
from tidelog.console.replies import (
    BAD_REQUEST,
    EXPECTED_FAILURES,
    NOT_FOUND,
    REPEATED_CHARACTERS,
    ConsoleRefusal,
    not_text,
    problem,
    reply,
)
from tidelog.console.settings import ConsoleSettings
from tidelog.version import VERSION

STATIC = Path(__file__).parent / "static"
# Of what the system thinks of these names, which some systems get wrong.
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# The browser asks whether a file has changed, so that an upgrade of tidelog is seen at once.
_ASK_AGAIN = {"cache-control": "no-cache"}
# The addresses that people bookmark. What follows the first part is for the module of the page in the browser.
PLACES = ("topics", "groups", "transactions", "brokers", "metadata", "configs", "security", "pipelines")


class _Files(StaticFiles):
    def file_response(self, *arguments: Any, **named: Any) -> Response:
        answer = super().file_response(*arguments, **named)
        answer.headers.update(_ASK_AGAIN)
        return answer

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        kind = _TYPES.get(Path(path).suffix)
        if kind is not None:
            answer.headers["content-type"] = f"{kind}; charset=utf-8"
        return answer


class Console:
    """The application, and an end to what would go on for ever."""

    def __init__(self, settings: ConsoleSettings) -> None:
        """Raises InvalidConfig for wrong properties of the client."""
        self.parts = ConsoleParts(settings=settings, cluster=ClusterConnection(settings.client), feeds=Feeds())
        self._api = _application(self.parts)
        self.app = Guard(self._api, settings)
        self._api.state.csrf_token = self.app.csrf_token

    async def end_live_data(self) -> None:
        """A server that stops waits for its replies; those with live data have no end of their own."""
        await self.parts.feeds.close()


def _application(parts: ConsoleParts) -> FastAPI:
    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        yield
        await parts.feeds.close()
        await parts.cluster.close()

    api = FastAPI(
        lifespan=running,
        redirect_slashes=False,
        # These pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # Newer ones hand requests and failures to whatever collects traces, and older ones ignore this.
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    api.state.parts = parts
    for failure in (*EXPECTED_FAILURES, ConsoleRefusal):
        api.add_exception_handler(failure, _failed)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(UnicodeEncodeError, _not_text)
    api.add_api_route("/api/session", _session, methods=["GET"])
    for router in ROUTERS:
        api.include_router(router, prefix="/api")
    api.add_api_route("/api/{rest:path}", _no_such_address, methods=["GET", "POST"], include_in_schema=False)
    api.mount("/static", _Files(directory=STATIC))
    api.add_api_route("/", _shell, methods=["GET", "HEAD"], include_in_schema=False)
    api.add_api_route("/favicon.ico", _icon, methods=["GET", "HEAD"], include_in_schema=False)
    for place in PLACES:
        api.add_api_route(f"/{place}", _shell, methods=["GET", "HEAD"], include_in_schema=False)
        api.add_api_route(f"/{place}/{{rest:path}}", _shell, methods=["GET", "HEAD"], include_in_schema=False)
    api.add_api_route("/{rest:path}", _no_such_page, methods=["GET", "HEAD"], include_in_schema=False)
    return api


async def _failed(_: Request, error: Exception) -> Response:
    return problem(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    given = ""
    if isinstance(first.get("input"), str | int | float | bool):
        given = f", but it is {repr(first['input'])[:REPEATED_CHARACTERS]}"
    return reply({"problem": "refused", "message": f"{where}: {first['msg']}{given}"}, BAD_REQUEST)


async def _not_text(_: Request, error: Exception) -> Response:
    assert isinstance(error, UnicodeEncodeError)
    return problem(not_text(error))


async def _shell() -> Response:
    return FileResponse(STATIC / "index.html", headers=_ASK_AGAIN)


async def _no_such_page() -> Response:
    """The frame of all pages, which says so and leads to those that there are."""
    return FileResponse(STATIC / "index.html", NOT_FOUND, headers=_ASK_AGAIN)


async def _icon() -> Response:
    return FileResponse(STATIC / "icon.svg", headers=_ASK_AGAIN)


async def _no_such_address(request: Request) -> Response:
    return reply({"problem": "missing", "message": f"there is nothing at {request.scope['path']}"}, NOT_FOUND)


async def _session(request: Request) -> Response:
    """What each page needs to know once."""
    parts: ConsoleParts = request.app.state.parts
    return reply(
        {
            "version": VERSION,
            "servers": parts.cluster.servers,
            "read_only": parts.settings.read_only,
            "csrf_token": request.app.state.csrf_token,
        }
    )
