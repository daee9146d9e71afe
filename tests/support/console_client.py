"""A console without a server or a browser: its application, asked as a browser asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tidelog.console.access import CSRF_HEADER
from tidelog.console.app import Console
from tidelog.console.settings import ConsoleSettings


class ConsoleClient:
    def __init__(self, console: Console, client: httpx.AsyncClient) -> None:
        self.console = console
        self.http = client

    async def get(self, path: str, **parameters: Any) -> Any:
        """The document of a reply without an error."""
        reply = await self.ask(path, **parameters)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def ask(self, path: str, **parameters: Any) -> httpx.Response:
        given = {name: value for name, value in parameters.items() if value is not None}
        return await self.http.get(f"/api/{path}", params=given)

    async def post(self, path: str, body: Mapping[str, Any]) -> httpx.Response:
        return await self.http.post(f"/api/{path}", json=body, headers={CSRF_HEADER: self.console.app.csrf_token})


@asynccontextmanager
async def console_client(bootstrap_servers: str, *, read_only: bool = False) -> AsyncIterator[ConsoleClient]:
    client = {"bootstrap.servers": bootstrap_servers}
    settings = ConsoleSettings(client=client, host="127.0.0.1", port=0, token=None, read_only=read_only)
    console = Console(settings)
    transport = httpx.ASGITransport(app=console.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        try:
            yield ConsoleClient(console, http)
        finally:
            await console.end_live_data()
            await console.parts.cluster.close()
