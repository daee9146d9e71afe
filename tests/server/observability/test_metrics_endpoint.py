"""Pages that can be answered at once, and pages that are made first."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.network.later import Later
from tidelog.network.port import AsyncioNetwork
from tidelog.server.observability.metrics_endpoint import Page, Pages, serve_pages

LOOPBACK = "127.0.0.1"


async def ask(port: int, request: str) -> tuple[str, str]:
    """The status and the content of the reply."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    writer.write(f"{request} HTTP/1.1\r\n\r\n".encode())
    head, _, content = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    return head.splitlines()[0].removeprefix("HTTP/1.1 "), content


def page(content: str) -> Page:
    return Page(content=content.encode(), content_type="text/plain")


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("GET /now", ("200 OK", "at once")),
        ("GET /later", ("200 OK", "collected")),
        ("HEAD /later", ("200 OK", "")),
        ("GET /fails", ("500 Internal Server Error", "the page could not be collected; the log says why\n")),
        ("GET /nowhere", ("404 Not Found", "the metrics are at /metrics\n")),
        ("POST /now", ("405 Method Not Allowed", "only GET is answered here\n")),
    ],
)
async def test_what_a_path_answers(request_line: str, expected: tuple[str, str]) -> None:
    async def collect() -> Page:
        await asyncio.sleep(0)
        return page("collected")

    async def fail() -> Page:
        raise RuntimeError("planted")

    pages: Pages = {
        "/now": lambda: page("at once"),
        "/later": lambda: Later.run(collect()),
        "/fails": lambda: Later.run(fail()),
    }
    listening = await serve_pages(AsyncioNetwork(), pages, LOOPBACK, 0)
    try:
        assert await ask(listening.port, request_line) == expected
    finally:
        listening.close()


async def test_a_client_that_leaves_before_its_page_is_made_disturbs_nobody() -> None:
    made = asyncio.Event()

    async def collect() -> Page:
        await made.wait()
        return page("collected")

    listening = await serve_pages(AsyncioNetwork(), {"/later": lambda: Later.run(collect())}, LOOPBACK, 0)
    try:
        _, writer = await asyncio.open_connection(LOOPBACK, listening.port)
        writer.write(b"GET /later HTTP/1.1\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        made.set()
        assert await ask(listening.port, "GET /later") == ("200 OK", "collected")
    finally:
        listening.close()
