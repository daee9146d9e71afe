"""The memory of requests on a real broker: half frames of strangers stop no one, and whole ones get through."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from server.conftest import create_topic
from support.processes import HANG_SECONDS
from support.raw_client import raw_client

import tidelog
from tidelog.network import request_memory
from tidelog.network.request_memory import SMALL_BYTES
from tidelog.protocol.messages.metadata_request import MetadataRequest

MEBIBYTE = 1 << 20
LIMIT = 8 * MEBIBYTE
PROPERTIES = {
    "socket.request.max.bytes": str(LIMIT),
    "queued.max.request.bytes": str(LIMIT),
    "message.max.bytes": str(LIMIT),
}


async def half_a_frame(address: str, declared: int, sent: int) -> asyncio.StreamWriter:
    """A Produce request that never ends."""
    host, _, port = address.partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.write(declared.to_bytes(4, "big") + bytes(sent))
    return writer


@pytest.mark.plain_python
async def test_half_frames_take_no_more_than_the_limit_and_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_memory, "CHECK_SECONDS", 0.05)
    async with tidelog.Broker(properties=PROPERTIES) as broker, AsyncExitStack() as stack:
        memory = broker.running.node.request_memory
        assert memory.limit == LIMIT
        client = await stack.enter_async_context(raw_client(broker.bootstrap_servers))
        await create_topic(client, "t", max_message_bytes=str(LIMIT))
        strangers = [await half_a_frame(broker.bootstrap_servers, LIMIT - 10, 3 * MEBIBYTE) for _ in range(20)]
        async with asyncio.timeout(HANG_SECONDS):
            while not memory.waiting:
                await asyncio.sleep(0.01)
        for number in range(50):
            assert (await client.produce("t", b"small %d" % number)).error_code == 0
            await client.ask(MetadataRequest())
        # Not small at all, and still not held up for good.
        large = await client.produce("t", bytes(5 * MEBIBYTE))
        assert large.error_code == 0
        assert memory.highest <= LIMIT + 22 * SMALL_BYTES
        for stranger in strangers:
            stranger.close()
        async with asyncio.timeout(HANG_SECONDS):
            while memory.used:
                await asyncio.sleep(0.01)
        assert not memory.waiting


async def test_large_requests_of_many_clients_all_get_through() -> None:
    async with tidelog.Broker(properties=PROPERTIES) as broker, AsyncExitStack() as stack:
        memory = broker.running.node.request_memory
        clients = [await stack.enter_async_context(raw_client(broker.bootstrap_servers)) for _ in range(8)]
        await create_topic(clients[0], "t", max_message_bytes=str(LIMIT))
        replies = await asyncio.gather(*(client.produce("t", bytes(MEBIBYTE)) for client in clients for _ in range(1)))
        assert {reply.error_code for reply in replies} == {0}
        assert memory.highest <= LIMIT + 8 * SMALL_BYTES
        assert memory.used == 0


async def test_requests_that_are_pipelined_are_not_taken_without_end() -> None:
    """A client that sends and never reads: its queue is bounded, and the memory comes back when it goes."""
    async with tidelog.Broker(properties=PROPERTIES) as broker:
        memory = broker.running.node.request_memory
        async with raw_client(broker.bootstrap_servers) as client, raw_client(broker.bootstrap_servers) as other:
            await create_topic(other, "t")
            for _ in range(3000):
                client.send(MetadataRequest(), 9)
            await other.ask(MetadataRequest())
            assert memory.highest <= LIMIT + 2 * SMALL_BYTES
        async with asyncio.timeout(HANG_SECONDS):
            while memory.used:
                await asyncio.sleep(0.01)
