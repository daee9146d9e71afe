"""The listeners of a node: those for clients and brokers, and those for controllers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import Listener, SecurityProtocol
from tidelog.metadata.image import Endpoint
from tidelog.network.frame_receiver import StagingArea
from tidelog.network.port import Listening, Network
from tidelog.network.request_memory import RequestMemory
from tidelog.network.server_connection import RequestService, ServerConnection
from tidelog.server.failures import StartFailure, reason


class Listeners:
    """From `open` to `close`."""

    def __init__(self, network: Network, send_buffer_bytes: int) -> None:
        self._network = network
        self._send_buffer_bytes = send_buffer_bytes
        self._listening: dict[str, Listening] = {}

    async def open(self, listeners: tuple[Listener, ...], service: RequestService, memory: RequestMemory) -> None:
        """Raises StartFailure."""
        staging = StagingArea()
        for listener in listeners:
            if listener.protocol is not SecurityProtocol.PLAINTEXT:
                raise StartFailure(f"{listener} needs {listener.protocol.name}, which is not served yet")
            factory = partial(ServerConnection, service, staging, memory, listener.name)
            self._listening[listener.name] = await self._open(factory, listener)

    async def _open(self, factory: Callable[[], ServerConnection], listener: Listener) -> Listening:
        try:
            return await self._network.listen(
                factory, listener.host, listener.port, send_buffer_bytes=self._send_buffer_bytes
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
        for listening in self._listening.values():
            listening.close()
