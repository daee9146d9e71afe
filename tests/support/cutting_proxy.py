"""A proxy between a client and a broker that cuts connections at chosen moments. Real sockets on both sides.

The broker has to advertise the proxy's address, so that clients come back to it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from struct import unpack_from


class CuttingProxy:
    """`cut_requests[api_key] = n`: the next n requests of this API end their connection before they reach the broker.

    `cut_replies[api_key] = n`: the next n requests reach the broker, but their replies do not come back.
    """

    def __init__(self) -> None:
        self.cut_requests: Counter[int] = Counter()
        self.cut_replies: Counter[int] = Counter()
        # Requests that came by, by API key; whether or not they went through.
        self.seen: Counter[int] = Counter()
        self.cuts = 0
        self.target: tuple[str, int] = ("127.0.0.1", 0)
        self._open: set[asyncio.StreamWriter] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        waiting: dict[int, int] = {}
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.close()
            return
        self._open.add(upstream_writer)
        forward = asyncio.create_task(self._forward(reader, upstream_writer, waiting))
        back = asyncio.create_task(self._back(upstream_reader, writer, waiting))
        await asyncio.wait((forward, back), return_when=asyncio.FIRST_COMPLETED)
        for task in (forward, back):
            task.cancel()
        await asyncio.gather(forward, back, return_exceptions=True)
        for end in (writer, upstream_writer):
            self._open.discard(end)
            end.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: dict[int, int]
    ) -> None:
        while (frame := await _read_frame(reader)) is not None:
            api_key, _, correlation_id = unpack_from(">hhi", frame, 4)
            self.seen[api_key] += 1
            if self.cut_requests[api_key] > 0:
                self.cut_requests[api_key] -= 1
                self.cuts += 1
                return
            waiting[correlation_id] = api_key
            writer.write(frame)

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, waiting: dict[int, int]) -> None:
        while (frame := await _read_frame(reader)) is not None:
            (correlation_id,) = unpack_from(">i", frame, 4)
            api_key = waiting.pop(correlation_id)
            if self.cut_replies[api_key] > 0:
                self.cut_replies[api_key] -= 1
                self.cuts += 1
                return
            writer.write(frame)

    def cut_all(self) -> None:
        """End all connections now."""
        for writer in list(self._open):
            writer.transport.abort()


async def _read_frame(reader: asyncio.StreamReader) -> bytes | None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        head = await reader.readexactly(4)
        return head + await reader.readexactly(unpack_from(">i", head)[0])
    return None


@asynccontextmanager
async def running_proxy() -> AsyncIterator[tuple[CuttingProxy, int]]:
    """(the proxy, its port). Set `target` once the broker runs."""
    proxy = CuttingProxy()
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    try:
        yield proxy, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        proxy.cut_all()
