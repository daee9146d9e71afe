"""What accepted connections have from their listener, on both event loops."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

import pytest
import uvloop
from support.processes import HANG_SECONDS

from tidelog.network.port import SYSTEM_SIZED, AsyncioNetwork


async def accepted_send_buffer(send_buffer_bytes: int) -> int:
    """The size of the buffer that an accepted connection gets."""
    sizes: asyncio.Queue[int] = asyncio.Queue()

    class Accepted(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted = transport.get_extra_info("socket")
            sizes.put_nowait(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
            cast(asyncio.Transport, transport).abort()

    network = AsyncioNetwork()
    listening = await network.listen(Accepted, "127.0.0.1", 0, send_buffer_bytes=send_buffer_bytes)
    transport, _ = await network.connect(asyncio.Protocol, listening.host, listening.port)
    size = await asyncio.wait_for(sizes.get(), HANG_SECONDS)
    transport.abort()
    listening.close()
    return size


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_accepted_connections_have_the_send_buffer_of_the_listener(loop: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if loop == "uvloop" else None) as runner:
        small, large = (runner.run(accepted_send_buffer(size)) for size in (20_000, 80_000))
        system_sized = runner.run(accepted_send_buffer(SYSTEM_SIZED))
    # Linux doubles what it is asked for, to have room for its own.
    assert large == 4 * small
    assert system_sized not in (small, large)
