"""Requests to the console without a server between: any path, any header, and replies that have no end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp
from support.processes import HANG_SECONDS

HOST = "127.0.0.1:8080"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def document(self) -> Any:
        return json.loads(self.body)


async def visit(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    query: str = "",
    body: bytes = b"",
    messages: int = 1,
) -> Answer:
    """The visitor goes away after so many messages of a reply that goes on."""
    named = {"host": HOST, "content-length": str(len(body)), **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
        "server": ("127.0.0.1", 8080),
        "client": ("127.0.0.1", 40000),
    }
    begun: list[Mapping[str, Any]] = []
    parts: list[bytes] = []
    asked, enough = False, asyncio.Event()

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}
        await enough.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            begun.append(message)
            return
        parts.append(message.get("body", b""))
        if len(parts) >= messages or not message.get("more_body", False):
            enough.set()

    async with asyncio.timeout(HANG_SECONDS):
        await app(scope, receive, send)
    (start,) = begun
    found = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(status=start["status"], headers=found, body=b"".join(parts))


def event(answer: Answer) -> tuple[str, Any]:
    """The last whole message of live data."""
    message = answer.body.decode().rstrip("\n").split("\n\n")[-1]
    name, data = message.split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))
