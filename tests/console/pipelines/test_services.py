"""/healthz of a pipeline: what it answers is taken within bounds, and everything else is a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from support.processes import HANG_SECONDS

from tidelog.console.pipelines.services import ServiceAddress, ServiceProblem, fetch_health, service_address
from tidelog.model.pipeline_status import MOST_STATUS_BYTES
from tidelog.spark.pipelines.health import PipelineHealth
from tidelog.spark.pipelines.service import serving
from tidelog.spark.pipelines.settings import Service

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def answering(serve: Serve) -> Any:
    """The address of a service that answers so."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield ServiceAddress(host="127.0.0.1", port=server.sockets[0].getsockname()[1])
    server.close()


def saying(*parts: bytes, close: bool = True) -> AbstractAsyncContextManager[ServiceAddress]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
        try:
            await writer.drain()
            if not close:
                await asyncio.sleep(HANG_SECONDS)
        except ConnectionError:
            pass
        writer.close()

    found: AbstractAsyncContextManager[ServiceAddress] = answering(serve)
    return found


async def problem_of(address: ServiceAddress) -> str:
    with pytest.raises(ServiceProblem) as found:
        await fetch_health(address)
    return str(found.value).replace(str(address), "URL")


async def test_a_pipeline_answers() -> None:
    health = PipelineHealth("orders")
    with serving(Service(port=0), health) as address:
        assert address is not None
        found = await fetch_health(service_address(address))
        # It answers 503 while it does not work.
        assert (found.pipeline, found.status, found.healthy) == ("orders", "starting", False)
        health.waits_for_records()
        found = await fetch_health(service_address(f"{address}/healthz"))
        assert (found.status, found.healthy) == ("running", True)
        assert "wrong" not in await problem_of(service_address(f"{address}/elsewhere"))
    assert (await problem_of(service_address(address))) == "URL does not answer: Connection refused"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b'HTTP/1.1 404 Not Found\r\n\r\n{"pipeline": "orders"}',
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
    ],
)
async def test_what_is_no_pipeline_is_said_with_its_status(answer: bytes) -> None:
    async with saying(answer) as address:
        status = answer.split()[1].decode()
        assert await problem_of(address) == f"URL answers with status {status}, but not as a pipeline does"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"", "its answer is not HTTP"),
        (b"SSH-2.0-OpenSSH\r\n", "its answer is not HTTP"),
        (b"HTTP/1.1 x00 OK\r\n\r\n", "its answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: y", "its answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 10_000 + b"\r\n", "its answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (MOST_STATUS_BYTES + 1), "its answer is too long"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 10_000_000, "its answer is too long"),
    ],
)
async def test_what_is_no_answer_is_said(answer: bytes, problem: str) -> None:
    async with saying(answer) as address:
        assert await problem_of(address) == f"URL does not answer as a pipeline does: {problem}"


async def test_a_line_without_an_end_is_not_read_for_ever() -> None:
    async with saying(b"x" * 10_000_000) as address:
        assert (await problem_of(address)).startswith("URL does not answer as a pipeline does: ")


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\n", b'HTTP/1.1 200 OK\r\n\r\n{"pipeline":'])
async def test_who_keeps_silent_is_not_waited_for(part: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.console.pipelines.services._ANSWER_SECONDS", 0.2)
    async with saying(part, close=False) as address:
        assert (await problem_of(address)).startswith("URL has not answered within ")


async def test_a_name_that_is_unknown_is_said() -> None:
    assert (await problem_of(service_address("http://pipeline.invalid"))).startswith("URL does not answer: ")


# -- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.0.0.1:9464", "http://127.0.0.1:9464"),
        ("127.0.0.1:9464", "http://127.0.0.1:9464"),
        ("http://pipelines.example", "http://pipelines.example:80"),
        ("http://127.0.0.1:9464/", "http://127.0.0.1:9464"),
        ("http://127.0.0.1:9464/healthz", "http://127.0.0.1:9464"),
        ("http://proxy.example:80/orders/healthz", "http://proxy.example:80/orders"),
        ("http://[::1]:9464", "http://[::1]:9464"),
        ("HTTP://Name:1", "http://name:1"),
    ],
)
def test_an_address(text: str, address: str) -> None:
    assert str(service_address(text)) == address
    assert str(service_address(address)) == address


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not the address of a service"),
        ("http://", "is not the address of a service"),
        ("https://a:1", "is not the address of a service"),
        ("file:///etc/passwd", "is not the address of a service"),
        ("http://a:1/healthz?x=1", "is not the address of a service"),
        ("http://a:99999", "is no address"),
        ("http://a:b", "is no address"),
        ("http://[a", "is no address"),
        ("http://user:planted-password@a:1", "has no user and no password"),
        ("http://a:1/x y", "has characters that no address has"),
        ("http://a:1/x\r\nHost: b", "has characters that no address has"),
        ("http://ä:1", "has characters that no address has"),
    ],
)
def test_what_is_no_address(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as found:
        service_address(text)
    assert "planted" not in str(found.value)
