"""Brokers whose connections to the controller have ended: it probes their ports, and has those fenced that are gone.

What counts as evidence is decided in `tidelog.controller.departures`. Connections are tracked on every controller, also
while it is not the active one, so that it knows who is connected when it becomes active.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field

from tidelog.config.broker import BrokerConfig
from tidelog.config.listeners import HostPort
from tidelog.controller.departures import Departures
from tidelog.metadata.image import BrokerImage, ClusterImage
from tidelog.model.errors import ApiError
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.ports import Clock
from tidelog.network.port import Network
from tidelog.network.server_connection import ServerConnection
from tidelog.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from tidelog.server.quorum.metadata import MetadataFollower
from tidelog.server.quorum.settings import voter_addresses

logger = logging.getLogger(__name__)

# A suspect is probed this often until it must be gone.
LOOKS = 8
LEAST_PAUSE_SECONDS = 0.02
# A machine that is up answers at once. Whether one that does not answer is up cannot be known anyway.
ANSWER_SECONDS = 0.3

# Fences the broker if it still has the epoch and `is_gone` still says so. Raises ApiError.
Fence = Callable[[int, int], Awaitable[None]]


@dataclass(slots=True, kw_only=True, eq=False)
class AbsentBrokers:
    """`begin` and `end` with the term of the active controller."""

    config: BrokerConfig
    metadata: MetadataFollower
    clock: Clock
    network: Network
    fence: Fence
    # Called with the number and the epoch of each broker that is about to be fenced for this reason.
    gone: Callable[[int, int], None]
    _departures: Departures = field(init=False)
    _brokers: dict[ServerConnection, int] = field(default_factory=dict, init=False)
    _connections: dict[int, ServerConnection] = field(default_factory=dict, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _watching: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._departures = Departures(self.config.tidelog_broker_refusal_timeout_ms)

    # -- connections ---------------------------------------------------------------------------------------------

    def heartbeat_came(self, request: BrokerHeartbeatRequest, connection: ServerConnection) -> None:
        """A connection of another incarnation than the current one does not count."""
        broker = self.metadata.latest.brokers.get(request.broker_id)
        if broker is None or broker.epoch != request.broker_epoch:
            return
        before = self._connections.get(broker.id)
        if before is not connection:
            if before is not None:
                self._brokers.pop(before, None)
            self._connections[broker.id] = connection
            self._brokers[connection] = broker.id
        self._departures.connected(broker.id)

    def connection_ended(self, connection: ServerConnection) -> None:
        broker_id = self._brokers.pop(connection, None)
        if broker_id is not None and self._connections.get(broker_id) is connection:
            del self._connections[broker_id]
            self._departures.disconnected(broker_id, self.clock.monotonic_ms())
            self._changed.set()

    def seen(self, node_id: int) -> None:
        """A request of that node has arrived, over any connection."""
        self._departures.seen(node_id)

    # -- the term ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        # This node's own broker has no connection and needs none.
        present = {self.config.node_id, *self._connections}
        self._departures.begin(self.metadata.latest, present, self.clock.monotonic_ms())
        self._changed.set()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())

    def end(self) -> None:
        """The term has ended, and nobody is fenced any more; connections are still tracked."""
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def is_gone(self, broker_id: int) -> bool:
        return self._departures.is_gone(broker_id, self.clock.monotonic_ms())

    def is_replaceable(self, broker_id: int) -> bool:
        return self._departures.is_replaceable(broker_id, self.clock.monotonic_ms())

    # -- looking -------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        pause_seconds = max(LEAST_PAUSE_SECONDS, self.config.tidelog_broker_refusal_timeout_ms / 1000 / LOOKS)
        while True:
            self._changed.clear()
            suspects = self._departures.suspects(self.metadata.latest)
            if not suspects:
                await self._changed.wait()
                continue
            try:
                await asyncio.gather(*(self._look(broker_id) for broker_id in suspects))
                for broker_id in suspects:
                    await self._fence_if_gone(broker_id, self.metadata.latest)
            except Exception:
                # The next round may succeed; without any, each death would take a whole session to be noticed.
                logger.exception("looking for brokers that are gone failed")
            await asyncio.sleep(pause_seconds)

    async def _look(self, broker_id: int) -> None:
        broker = self.metadata.latest.brokers.get(broker_id)
        if broker is None:
            return
        addresses = self._addresses(broker)
        refusals = await asyncio.gather(
            *(self.network.refuses(each.host, each.port, ANSWER_SECONDS) for each in addresses)
        )
        if refusals and all(refusals):
            self._departures.refused(broker_id, self.clock.monotonic_ms())
        else:
            self._departures.not_refused(broker_id)

    def _addresses(self, broker: BrokerImage) -> list[HostPort]:
        """Where other nodes reach it. Listeners for clients may be in networks that this node cannot reach."""
        among_brokers = broker.endpoint(self.config.inter_broker_listener_name or "")
        endpoints = broker.endpoints[:1] if among_brokers is None else [among_brokers]
        addresses = [HostPort(host=each.host, port=each.port) for each in endpoints]
        voter = voter_addresses(self.config).get(broker.id)
        return addresses if voter is None else [*addresses, voter]

    async def _fence_if_gone(self, broker_id: int, image: ClusterImage) -> None:
        broker = image.brokers.get(broker_id)
        if broker is None or broker.fenced or not self.is_gone(broker_id):
            return
        logger.warning(
            "broker %d is gone: its connection has ended, and nothing listens on its ports any more; fencing it",
            broker_id,
        )
        self.gone(broker_id, broker.epoch)
        try:
            await self.fence(broker_id, broker.epoch)
        except ApiError as error:
            logger.warning("broker %d could not be fenced: %s", broker_id, error)
