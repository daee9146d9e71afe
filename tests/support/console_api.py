"""The console's API as a page uses it, without a server and a browser between."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from support.console_visits import event, visit

from tidelog.console.access import CSRF_HEADER
from tidelog.console.app import Console
from tidelog.console.settings import ConsoleSettings


class ConsoleApi:
    """`said` is all that it has ever answered."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.said = b""

    async def get(self, path: str, expected: int = 200, **parameters: object) -> Any:
        answer = await visit(self.console.app, f"/api/{path}", query=_query(parameters))
        self.said += answer.body
        assert answer.status == expected, answer.text[:1000]
        return answer.document

    async def post(self, path: str, body: Mapping[str, Any], expected: int = 200) -> Any:
        headers = {CSRF_HEADER: self.console.app.csrf_token, "content-type": "application/json"}
        answer = await visit(
            self.console.app, f"/api/{path}", method="POST", headers=headers, body=json.dumps(body).encode()
        )
        self.said += answer.body
        assert answer.status == expected, answer.text[:1000]
        return answer.document

    async def live(self, path: str, **parameters: object) -> Any:
        """The first reading of a feed, or the one that others have last got."""
        answer = await visit(self.console.app, f"/api/{path}", query=_query(parameters))
        self.said += answer.body
        kind, document = event(answer)
        assert kind == "reading", document
        return document


@asynccontextmanager
async def console_of(client: Mapping[str, Any], **settings: Any) -> AsyncIterator[ConsoleApi]:
    """Of the cluster that these properties lead to."""
    given = {"host": "127.0.0.1", "port": 0, "token": None, "read_only": False, **settings}
    console = Console(ConsoleSettings(client=client, **given))
    try:
        yield ConsoleApi(console)
    finally:
        await console.end_live_data()
        await console.parts.cluster.close()


def _query(parameters: Mapping[str, object]) -> str:
    return urlencode({name: str(value) for name, value in parameters.items()})
