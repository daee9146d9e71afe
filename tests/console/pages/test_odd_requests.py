"""Requests that no page makes: they are refused with a sentence that names the value."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
from support.console_client import ConsoleClient, console_client

import tidelog
from tidelog.console.access import CSRF_HEADER

HALF_A_PAIR = "x\ud800y"
TOO_LARGE = 1 << 63


@pytest.fixture
async def client() -> AsyncIterator[ConsoleClient]:
    async with tidelog.Broker(port=0) as broker, console_client(broker.bootstrap_servers) as one:
        yield one


async def posted(client: ConsoleClient, path: str, body: Mapping[str, object]) -> httpx.Response:
    """With escapes for what is not ASCII, which can stand for what UTF-8 cannot."""
    headers = {CSRF_HEADER: client.console.app.csrf_token, "content-type": "application/json"}
    return await client.http.post(f"/api/{path}", content=json.dumps(body), headers=headers)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("topics/create", {"name": HALF_A_PAIR, "partitions": 1}),
        ("topics/create", {"name": "orders", "partitions": 1, "configs": {"retention.ms": HALF_A_PAIR}}),
        ("topic/delete", {"name": HALF_A_PAIR, "id": "x"}),
        ("configs/change", {"kind": "group", "name": HALF_A_PAIR, "property": "session.timeout.ms", "value": "1"}),
        ("messages/produce", {"topic": HALF_A_PAIR}),
    ],
)
async def test_half_a_surrogate_pair_is_no_text(client: ConsoleClient, path: str, body: dict[str, object]) -> None:
    reply = await posted(client, path, body)
    assert reply.status_code == 400, reply.text
    assert "has half a surrogate pair at character 2" in reply.json()["message"]
    assert repr(HALF_A_PAIR) in reply.json()["message"]
    assert "brokers" in await client.get("configs/resources"), "the connection is none the worse for it"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("configs/change", {"kind": "cluster", "property": "ssl.keystore.password", "value": HALF_A_PAIR}),
        ("security/users/password", {"user": "u", "mechanism": "SCRAM-SHA-256", "password": HALF_A_PAIR}),
    ],
)
async def test_what_may_be_a_secret_is_not_repeated(client: ConsoleClient, path: str, body: dict[str, object]) -> None:
    reply = await posted(client, path, body)
    assert reply.status_code == 400, reply.text
    assert "d800" not in reply.text


async def test_of_a_long_value_only_the_beginning_is_repeated(client: ConsoleClient) -> None:
    reply = await posted(client, "topics/create", {"name": "x" * 5000 + HALF_A_PAIR, "partitions": 1})
    assert reply.status_code == 400
    assert "'xxx" in reply.json()["message"]
    assert "character 5002" in reply.json()["message"]
    assert len(reply.json()["message"]) < 300


@pytest.mark.parametrize(
    ("path", "parameters", "message"),
    [
        ("transaction/timeline", {"id": "pay", "before": TOO_LARGE}, f"before: Input should be less .* '{TOO_LARGE}'"),
        ("configs/properties", {"kind": "broker", "name": "9" * 5000}, "a broker has a number .* '999.*'... is none"),
        ("configs/properties", {"kind": "broker", "name": str(1 << 31)}, "from 0 to 2147483647, '2147483648' is none"),
    ],
)
async def test_numbers_that_are_too_large(
    client: ConsoleClient, path: str, parameters: dict[str, object], message: str
) -> None:
    reply = await client.ask(path, **parameters)
    assert reply.status_code == 400, reply.text
    assert len(reply.text) < 400
    assert re.search(message, reply.json()["message"])
