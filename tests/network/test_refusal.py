"""Whether nobody listens on a port, as the system says it: the evidence that a process is gone."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

import pytest

from tidelog.network.port import AsyncioNetwork

LISTENS = """
import socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""
SECONDS = 5.0


@pytest.fixture
def network() -> AsyncioNetwork:
    return AsyncioNetwork()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_refuses_exactly_as_long_as_nobody_listens(network: AsyncioNetwork, host: str) -> None:
    with socket.socket() as reserved:
        # Bound but not listening: nobody else can take the port meanwhile.
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        assert await network.refuses(host, port, SECONDS)
        reserved.listen()
        assert not await network.refuses(host, port, SECONDS)


async def test_a_process_refuses_when_it_is_killed_and_not_when_it_is_paused(network: AsyncioNetwork) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", LISTENS, stdin=pipe, stdout=pipe)
    try:
        assert process.stdout is not None
        port = int(await process.stdout.readline())
        assert not await network.refuses("127.0.0.1", port, SECONDS)
        process.send_signal(signal.SIGSTOP)
        assert not await network.refuses("127.0.0.1", port, SECONDS)
    finally:
        process.kill()
        await process.wait()
    assert await network.refuses("127.0.0.1", port, SECONDS)


async def test_a_host_that_says_nothing_does_not_refuse(network: AsyncioNetwork) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # A queue of one that is full: further attempts get no answer, as from a host behind a firewall that drops.
        listening.listen(0)
        address = listening.getsockname()
        waiting = []
        try:
            for _ in range(4):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(address)
                waiting.append(client)
            assert not await network.refuses("127.0.0.1", address[1], 0.3)
        finally:
            for client in waiting:
                client.close()


async def test_a_host_that_is_not_known_does_not_refuse(network: AsyncioNetwork) -> None:
    assert not await network.refuses("no-such-host.invalid", 9092, SECONDS)
