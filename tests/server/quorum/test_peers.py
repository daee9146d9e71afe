"""Connections to other nodes, which may move while somebody waits for them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable

from tidelog.config.listeners import HostPort
from tidelog.network.client_connection import ConnectionSettings
from tidelog.network.port import AnyProtocol, AsyncioNetwork
from tidelog.server.quorum.peers import Peers


class _NobodyThere(AsyncioNetwork):
    """Each attempt fails once the test says so."""

    def __init__(self) -> None:
        self.tried: list[int] = []
        self.fail = asyncio.Event()

    async def connect(
        self,
        protocol_factory: Callable[[], AnyProtocol],
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> tuple[asyncio.Transport, AnyProtocol]:
        self.tried.append(port)
        await self.fail.wait()
        raise OSError(f"nobody is at port {port}")


async def test_whoever_waited_for_a_connection_tries_where_the_node_is_now() -> None:
    network = _NobodyThere()
    addresses = {2: HostPort(host="there", port=1)}
    settings = ConnectionSettings(connect_timeout_ms=10_000, request_timeout_ms=10_000)
    peers = Peers(network, addresses.get, settings)
    attempts = [asyncio.create_task(peers.connect(2)) for _ in range(3)]
    while not network.tried:
        await asyncio.sleep(0)
    addresses[2] = HostPort(host="there", port=9)
    network.fail.set()
    await asyncio.gather(*attempts, return_exceptions=True)
    assert network.tried == [1, 9, 9]
