"""Connections to other nodes, opened when they are needed and reopened after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field, replace
from typing import TypeVar

from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import HostPort
from tidelog.metadata.image import Endpoint
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.client_connection import CannotConnect, ClientConnection, ConnectionSettings, open_connection
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import Network
from tidelog.protocol.schema import Message
from tidelog.server.configuration.node_security import NodeSecurity, unsecured

R = TypeVar("R", bound=Message)

# A host that is up answers at once; one that does not is not waited for.
REFUSAL_SECONDS = 0.3


@dataclass(slots=True, eq=False)
class Peers:
    """One connection to each node, shared by all callers.

    A request that waits (a fetch) would hold up those behind it, so callers that must not wait use a `Peers` of their
    own.
    """

    network: Network
    address_of: Callable[[int], HostPort | Endpoint | None]
    settings: ConnectionSettings
    # Called when a connection has ended, on whichever side.
    lost: Callable[[int], None] = lambda _: None
    security: NodeSecurity = unsecured
    _staging: StagingArea = field(default_factory=StagingArea, init=False)
    _connections: dict[int, tuple[HostPort | Endpoint, ClientConnection]] = field(default_factory=dict, init=False)
    _opening: dict[int, asyncio.Lock] = field(default_factory=dict, init=False)

    async def ask(self, node_id: int, request: Message, expected: type[R], timeout_ms: float | None = None) -> R:
        """Raises ConnectionProblem or UnsupportedByBroker."""
        connection = await self.connect(node_id)
        return await connection.request(request, expected, timeout_ms=timeout_ms)

    async def connect(self, node_id: int) -> ClientConnection:
        """The existing connection, or a new one if that has ended. Raises ConnectionProblem."""
        connection = self.current(node_id)
        if connection is not None:
            return connection
        async with self._opening.setdefault(node_id, asyncio.Lock()):
            # While this waited, somebody else may have opened it, or the node may have moved.
            address = self._address(node_id)
            connection = self._usable(node_id, address)
            if connection is None:
                if node_id in self._connections:
                    self._connections[node_id][1].close()
                connection = await self._open(address)
                self._connections[node_id] = (address, connection)
                connection.ended.add_done_callback(lambda _: self.lost(node_id))
            return connection

    async def _open(self, address: HostPort | Endpoint) -> ClientConnection:
        try:
            settings = replace(self.settings, security=self.security())
            return await open_connection(self.network, address.host, address.port, settings, self._staging)
        except InvalidConfig as error:
            raise CannotConnect(f"cannot connect to {address.host}:{address.port}: {error}") from error

    def current(self, node_id: int) -> ClientConnection | None:
        """The existing connection, unless it has ended or the node has moved. Raises CannotConnect."""
        return self._usable(node_id, self._address(node_id))

    def _address(self, node_id: int) -> HostPort | Endpoint:
        address = self.address_of(node_id)
        if address is None:
            raise CannotConnect(f"node {node_id} has no registered address for other nodes")
        return address

    def _usable(self, node_id: int, address: HostPort | Endpoint) -> ClientConnection | None:
        known = self._connections.get(node_id)
        return known[1] if known is not None and known[0] == address and not known[1].closed else None

    async def refuses(self, node_id: int) -> bool:
        """Whether no process listens at the node's address any more: its process is gone."""
        address = self.address_of(node_id)
        return address is not None and await self.network.refuses(address.host, address.port, REFUSAL_SECONDS)

    def close(self) -> None:
        for _, connection in self._connections.values():
            connection.close()
        self._connections.clear()
