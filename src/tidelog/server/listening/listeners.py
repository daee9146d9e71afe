"""The listeners of a node: those for clients and brokers, and those for controllers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.config.broker import BrokerConfig
from tidelog.config.definitions import InvalidConfig
from tidelog.config.listeners import Listener
from tidelog.metadata.image import Endpoint
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.handshakes import CurrentContext
from tidelog.network.port import Listening, Network
from tidelog.network.request_memory import RequestMemory
from tidelog.network.server_connection import RequestService, ServerConnection
from tidelog.server.failures import StartFailure, reason
from tidelog.server.listening.security_sources import SecuritySources

if TYPE_CHECKING:
    from tidelog.server.listening.listener_security import ListenerSecurity

logger = logging.getLogger(__name__)

# How often it is looked whether certificates or properties have changed.
CHANGE_CHECK_SECONDS = 5.0


class Listeners:
    """From `open` to `close`."""

    def __init__(self, network: Network, send_buffer_bytes: int) -> None:
        self._network = network
        self._send_buffer_bytes = send_buffer_bytes
        self._listening: dict[str, Listening] = {}
        self._secured: list[ListenerSecurity] = []
        self._watching: asyncio.Task[None] | None = None

    async def open(
        self,
        listeners: tuple[Listener, ...],
        service: RequestService,
        memory: RequestMemory,
        sources: SecuritySources,
    ) -> None:
        """Raises StartFailure."""
        # All are prepared before the first is opened: whoever sees one of them may count on the others.
        prepared = [(listener, await self._prepare(listener, sources)) for listener in listeners]
        staging = StagingArea()
        for listener, security in prepared:
            tls = security.context if security is not None and listener.protocol.uses_tls else None
            factory = _factory(listener, security, service, staging, memory)
            self._listening[listener.name] = await self._open(factory, listener, tls)
        if self._secured:
            self._watching = asyncio.create_task(self._watch())

    async def refresh(self) -> None:
        """Look for new certificates and properties now."""
        for security in self._secured:
            await security.refresh()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHANGE_CHECK_SECONDS)
            try:
                await self.refresh()
            except Exception:
                # The next look may succeed.
                logger.exception("the certificates of the listeners could not be looked at")

    async def _prepare(self, listener: Listener, sources: SecuritySources) -> ListenerSecurity | None:
        """Raises StartFailure."""
        if not listener.protocol.uses_tls and not listener.protocol.uses_sasl:
            return None
        # Most of `tidelog.security` is behind it, which other listeners do not need.
        from tidelog.server.listening.listener_security import ListenerSecurity

        security = ListenerSecurity(listener, sources)
        self._secured.append(security)
        try:
            await security.prepare()
        except InvalidConfig as error:
            raise StartFailure(f"the listener {listener} cannot be opened: {error}") from None
        return security

    async def _open(
        self, factory: Callable[[], ServerConnection], listener: Listener, tls: CurrentContext | None
    ) -> Listening:
        try:
            return await self._network.listen(
                factory, listener.host, listener.port, send_buffer_bytes=self._send_buffer_bytes, tls=tls
            )
        except OSError as error:
            raise StartFailure(
                f"cannot listen on {listener.host or '*'}:{listener.port}: {reason(error)}; "
                "is another broker running there? Choose another port with --port or in listeners="
            ) from error

    def endpoints(self, config: BrokerConfig) -> list[Endpoint]:
        """The advertised addresses; a port of 0 becomes the one that the system chose."""
        endpoints = []
        for advertised in config.advertised_listeners:
            listening = self._listening.get(advertised.name)
            port = listening.port if listening is not None and advertised.port == 0 else advertised.port
            host = advertised.host or (listening.host if listening is not None else "localhost")
            endpoints.append(
                Endpoint(listener=advertised.name, host=host, port=port, security_protocol=advertised.protocol)
            )
        return endpoints

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        for security in self._secured:
            security.stop()
        for listening in self._listening.values():
            listening.close()


def _factory(
    listener: Listener,
    security: ListenerSecurity | None,
    service: RequestService,
    staging: StagingArea,
    memory: RequestMemory,
) -> Callable[[], ServerConnection]:
    def connection() -> ServerConnection:
        own_service = service if security is None else security.service_for_connection(service)
        return ServerConnection(own_service, staging, memory, listener.name, listener.protocol)

    return connection
