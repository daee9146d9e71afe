"""The connections of a broker: how many there may be, and when an idle one is closed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

from tidelog.network.server_connection import ServerConnection
from tidelog.server.observability.metrics import Metrics

logger = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = 10.0
DRAIN_SECONDS = 5.0


class Connections:
    """Counts in `admit` and `release`; limits are Kafka's max.connections and max.connections.per.ip, and how many
    descriptors the process has for connections."""

    def __init__(
        self, *, maximum: int, descriptors: int, maximum_per_host: int, max_idle_ms: int, metrics: Metrics
    ) -> None:
        self._maximum = maximum
        self._descriptors = descriptors
        self._maximum_per_host = maximum_per_host
        self._max_idle_seconds = max_idle_ms / 1000
        self._metrics = metrics
        # In the order in which they came; a set of objects would have another order in every run.
        self._open: dict[ServerConnection, None] = {}
        self._per_host: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: ServerConnection) -> bool:
        host = connection.peer_host
        if len(self._open) >= self._maximum:
            self._metrics.connection_refused("max.connections")
            logger.warning("refusing a connection from %s: max.connections=%d are open", host, self._maximum)
            return False
        if len(self._open) >= self._descriptors:
            self._metrics.connection_refused("descriptors")
            logger.warning(
                "refusing a connection from %s: %d are open, and the other descriptors of this process are for its "
                "files; raise the limit with ulimit -n",
                host,
                self._descriptors,
            )
            return False
        if self._per_host[host] >= self._maximum_per_host:
            self._metrics.connection_refused("max.connections.per.ip")
            logger.warning(
                "refusing a connection from %s: max.connections.per.ip=%d are open", host, self._maximum_per_host
            )
            return False
        self._open[connection] = None
        self._per_host[host] += 1
        return True

    def release(self, connection: ServerConnection) -> None:
        if connection in self._open:
            del self._open[connection]
            self._per_host[connection.peer_host] -= 1
            if not self._per_host[connection.peer_host]:
                del self._per_host[connection.peer_host]

    async def close_idle_ones(self) -> None:
        """Runs as long as the broker does."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(IDLE_CHECK_SECONDS, self._max_idle_seconds))
            oldest = loop.time() - self._max_idle_seconds
            for connection in [c for c in self._open if c.idle and c.last_active < oldest]:
                logger.info("closing the idle connection from %s:%d", connection.peer_host, connection.peer_port)
                connection.close()

    async def close_all(self) -> None:
        """Answer what has been asked, then close."""
        await asyncio.gather(*(connection.drain_and_close(DRAIN_SECONDS) for connection in list(self._open)))

    def drop_all(self) -> None:
        """Close at once, whatever was asked."""
        for connection in list(self._open):
            connection.close()
