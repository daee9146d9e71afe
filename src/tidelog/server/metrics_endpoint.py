"""An HTTP listener that answers GET /metrics in Prometheus' text format, on the event loop of the broker.

Small on purpose: a scrape is one request without a body on a connection of its own. The listener has the network
port, like everything else that opens a socket.
"""

from __future__ import annotations

import asyncio
from typing import cast

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from tidelog.network.port import Listening, Network
from tidelog.server.metrics import Metrics

MAX_REQUEST_BYTES = 16 * 1024
REQUEST_TIMEOUT_SECONDS = 10.0


class _Scrape(asyncio.Protocol):
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
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
            self._reply("431 Request Header Fields Too Large", "text/plain", b"")

    def _answer(self, request_line: bytes) -> None:
        method, _, rest = request_line.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            self._reply("405 Method Not Allowed", "text/plain", b"only GET is answered here\n")
        elif path not in (b"/metrics", b"/"):
            self._reply("404 Not Found", "text/plain", b"the metrics are at /metrics\n")
        else:
            body = generate_latest(self._metrics.registry)
            self._reply("200 OK", CONTENT_TYPE_LATEST, body if method == b"GET" else b"")

    def _reply(self, status: str, content_type: str, body: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        self._transport.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        self._transport.close()


async def serve_metrics(network: Network, metrics: Metrics, host: str, port: int) -> Listening:
    """Listen until the returned listener is closed."""
    return await network.listen(lambda: _Scrape(metrics), host, port)
