"""An HTTP listener for scrapes and probes: GET /metrics in Prometheus' text format, and other small pages by path.

Small on purpose: a scrape is one request without a body on a connection of its own. The listener has the network
port, like everything else that opens a socket. Brokers and pipelines use it, and `tidelog up --cores`, whose page is
collected from other processes first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.later import Later
from tidelog.network.port import Listening, Network
from tidelog.server.observability.metrics import Metrics

logger = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 16 * 1024
REQUEST_TIMEOUT_SECONDS = 10.0
METRICS_PATH = "/metrics"

OK = "200 OK"
UNAVAILABLE = "503 Service Unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a path answers with."""

    content: bytes
    content_type: str
    status: str = OK


Pages = Mapping[str, Callable[[], Page | Later[Page]]]


def metrics_page(registry: CollectorRegistry) -> Page:
    return Page(content=generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class _Request(asyncio.Protocol):
    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's, only like them.
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(REQUEST_TIMEOUT_SECONDS, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if b"\r\n\r\n" in self._received:
            self._answer(self._received.split(b"\r\n", 1)[0])
        elif len(self._received) > MAX_REQUEST_BYTES:
            self._reply(_plain("431 Request Header Fields Too Large", ""))

    def _answer(self, request_line: bytes) -> None:
        method, _, rest = request_line.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in (b"GET", b"HEAD"):
            self._reply(_plain("405 Method Not Allowed", "only GET is answered here\n"))
            return
        page = self._pages.get(METRICS_PATH if path == "/" else path)
        if page is None:
            self._reply(_plain("404 Not Found", f"the metrics are at {METRICS_PATH}\n"))
            return
        found, with_content = page(), method == b"GET"
        if isinstance(found, Later):
            reply = found.otherwise(_failed).then(lambda done: self._reply(done, with_content=with_content))
            found.future.add_done_callback(lambda future: None if future.cancelled() else reply.take())
        else:
            self._reply(found, with_content=with_content)

    def _reply(self, page: Page, *, with_content: bool = True) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        body = page.content if with_content else b""
        head = f"HTTP/1.1 {page.status}\r\nContent-Type: {page.content_type}\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        self._transport.close()


def _failed(error: Exception) -> Page:
    logger.error("a page could not be collected", exc_info=error)
    return _plain("500 Internal Server Error", "the page could not be collected; the log says why\n")


def _plain(status: str, text: str) -> Page:
    return Page(content=text.encode(), content_type="text/plain", status=status)


async def serve_pages(network: Network, pages: Pages, host: str, port: int) -> Listening:
    """Listen until the returned listener is closed."""
    return await network.listen(lambda: _Request(pages), host, port)


async def serve_metrics(network: Network, metrics: Metrics, host: str, port: int) -> Listening:
    """The metrics of a broker."""
    return await serve_pages(network, {METRICS_PATH: lambda: metrics_page(metrics.registry())}, host, port)
