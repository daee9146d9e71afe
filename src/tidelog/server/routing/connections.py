"""The connections to the listeners of one kind: how many there may be, and when an idle one is closed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from tidelog.config.broker import BrokerConfig
from tidelog.config.catalogue.network import connections_per_address
from tidelog.network.server_connection import ServerConnection
from tidelog.server.observability.metrics import Metrics

logger = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = 10.0
DRAIN_SECONDS = 5.0


class Connections:
    """Counts in `admit` and `release`; limits are Kafka's max.connections and max.connections.per.ip, as they are when
    a connection comes in, and how many descriptors the process has for connections."""

    def __init__(
        self,
        *,
        config: Callable[[], BrokerConfig],
        descriptors: int,
        metrics: Metrics,
        released: Callable[[ServerConnection], None] = lambda connection: None,
    ) -> None:
        """`released` is called with each connection that has ended."""
        self._config = config
        self._descriptors = descriptors
        self._metrics = metrics
        self._released = released
        # In order of arrival; a set of objects would have another order in every run.
        self._open: dict[ServerConnection, None] = {}
        self._per_host: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: ServerConnection) -> bool:
        host = connection.peer_host
        config = self._config()
        if len(self._open) >= config.max_connections:
            self._metrics.connection_refused("max.connections")
            logger.warning("refusing a connection from %s: max.connections=%d are open", host, config.max_connections)
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
        overrides = connections_per_address(config.max_connections_per_ip_overrides)
        limit = overrides.get(host, config.max_connections_per_ip)
        if self._per_host[host] >= limit:
            self._metrics.connection_refused("max.connections.per.ip")
            logger.warning("refusing a connection from %s: max.connections.per.ip=%d are open", host, limit)
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
            self._released(connection)

    async def close_idle_ones(self) -> None:
        """Runs as long as the broker does."""
        loop = asyncio.get_running_loop()
        max_idle_seconds = self._config().connections_max_idle_ms / 1000
        if max_idle_seconds < 0:
            return
        while True:
            await asyncio.sleep(min(IDLE_CHECK_SECONDS, max_idle_seconds))
            oldest = loop.time() - max_idle_seconds
            for connection in [c for c in self._open if c.idle and c.last_active < oldest]:
                logger.info("closing the idle connection from %s:%d", connection.peer_host, connection.peer_port)
                connection.close()

    async def close_all(self) -> None:
        """Answer the requests received so far, then close."""
        await asyncio.gather(*(connection.drain_and_close(DRAIN_SECONDS) for connection in list(self._open)))

    def drop_all(self) -> None:
        """Close at once, without answering."""
        for connection in list(self._open):
            connection.close()
