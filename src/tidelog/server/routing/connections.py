"""The connections to the listeners of one kind: which are let in, and when an idle one is closed.

Who may come in is decided by `tidelog.security.quotas.connections`, as Apache Kafka decides it. Kafka does not accept
what has to wait: it stays in the queue of the system. An event loop accepts whatever arrives, so such a connection is
held here, in the order of arrival, and not read. Of those that wait there is a bound for each listener, and another one
for all connections: the descriptors that the process has for them. Beyond these a connection is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable

from tidelog.config.broker import BrokerConfig
from tidelog.config.catalogue.network import connections_per_address
from tidelog.config.listeners import Listener
from tidelog.model.ports import Clock
from tidelog.network.server_connection import ServerConnection
from tidelog.security.quotas.book import AddressRates
from tidelog.security.quotas.connections import (
    ConnectionLimits,
    ConnectionQuotas,
    Entry,
    EntryDecision,
    ListenerLimits,
)
from tidelog.security.quotas.rates import QuotaWindows
from tidelog.server.observability.metrics import Metrics

logger = logging.getLogger(__name__)

IDLE_CHECK_SECONDS = 10.0
DRAIN_SECONDS = 5.0
# As many as the system would keep waiting, see LISTEN_BACKLOG.
MOST_WAITING = 1024
# A limit may have been raised meanwhile.
SLOT_CHECK_SECONDS = 1.0


def connection_limits(config: BrokerConfig, listeners: Iterable[Listener]) -> ConnectionLimits:
    """What the properties say about the connections to these listeners."""
    return ConnectionLimits(
        listeners={each.name: _listener_limits(config, each.name) for each in listeners},
        inter_broker_listener=config.inter_broker_listener_name,
        max_connections=config.max_connections,
        creation_rate=config.max_connection_creation_rate,
        max_connections_per_ip=config.max_connections_per_ip,
        per_ip_overrides=connections_per_address(config.max_connections_per_ip_overrides),
    )


def _listener_limits(config: BrokerConfig, listener: str) -> ListenerLimits:
    """A listener without limits of its own has those of the broker, as in Kafka."""
    own = config.of_listener(listener)
    return ListenerLimits(max_connections=own.max_connections, creation_rate=own.max_connection_creation_rate)


class _EntryLine:
    """Connections that wait at one listener. The first is the one that the quotas know of, even if it is lost."""

    __slots__ = ("first", "others", "timer")

    def __init__(self) -> None:
        self.first: ServerConnection | None = None
        self.others: deque[ServerConnection] = deque()
        self.timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self.others) + (self.first is not None)


class Connections:
    """Counts in `admit` and `release`. Limits are those of the configuration as it is when a connection comes in."""

    def __init__(
        self,
        *,
        config: Callable[[], BrokerConfig],
        listeners: tuple[Listener, ...],
        descriptors: int,
        clock: Clock,
        metrics: Metrics,
        released: Callable[[ServerConnection], None] = lambda connection: None,
    ) -> None:
        """`released` is called with each connection that was let in and has ended."""
        self._config = config
        self._listeners = listeners
        self._descriptors = descriptors
        self._clock = clock
        self._metrics = metrics
        self._released = released
        self._seen_config = config()
        self._quotas = ConnectionQuotas(
            connection_limits(self._seen_config, listeners), windows=quota_windows(self._seen_config)
        )
        # In order of arrival; a set of objects would have another order in every run.
        self._open: dict[ServerConnection, None] = {}
        self._lines = {listener.name: _EntryLine() for listener in listeners}
        # Refused ones that are closed later, so that their clients do not come again at once.
        self._dismissed: dict[ServerConnection, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def waiting(self) -> int:
        """How many connections are held, to be let in or closed later."""
        return sum(map(len, self._lines.values())) + len(self._dismissed)

    def adopt(self, rates: AddressRates) -> None:
        """Other quotas of addresses (KIP-612), their host names resolved."""
        self._quotas.adopt(rates)

    def expire(self) -> None:
        self._quotas.expire(int(self._clock.monotonic_ms()))

    # -- coming in -----------------------------------------------------------------------------------------------

    def admit(self, connection: ServerConnection) -> bool:
        """False refuses the connection. One that has to wait is held until it is let in, or closed."""
        self._follow_config()
        if len(self._open) + self.waiting >= self._descriptors:
            return self._refuse(
                connection,
                "descriptors",
                f"{len(self._open)} are open, {self.waiting} wait, and the other descriptors of this process are for "
                "its files; raise the limit with ulimit -n",
            )
        line = self._lines[connection.listener]
        if line.first is None:
            decision = self._quotas.accept(connection.peer_host, connection.listener, self._now_ms())
            return self._act(connection, line, decision)
        if len(line) >= MOST_WAITING:
            return self._refuse(connection, "backlog", f"{len(line)} wait to be let in at {connection.listener}")
        connection.hold()
        line.others.append(connection)
        return True

    def release(self, connection: ServerConnection) -> None:
        """It is closed, whether it was let in or not."""
        if connection in self._open:
            self._leave(connection)
            self._released(connection)
            return
        dismissed = self._dismissed.pop(connection, None)
        if dismissed is not None:
            dismissed.cancel()
            return
        line = self._lines.get(connection.listener)
        if line is not None and connection in line.others:
            line.others.remove(connection)

    def _act(self, connection: ServerConnection, line: _EntryLine, decision: EntryDecision) -> bool:
        """Whether the connection stays open for now. For one that is not in the line, or the first in it."""
        match decision.entry:
            case Entry.ADMIT:
                self._open[connection] = None
                self._close_excess()
                return True
            case Entry.CLOSE:
                return self._dismiss(connection, decision)
            case Entry.DELAY:
                seconds = decision.delay_ms / 1000
            case _:
                seconds = SLOT_CHECK_SECONDS
        if line.first is None:
            logger.info("a connection from %s waits: %s", connection.peer_host, _reason(decision))
            connection.hold()
            line.first = connection
        line.timer = asyncio.get_running_loop().call_later(seconds, self._go_on, connection.listener)
        return True

    def _go_on(self, listener: str) -> None:
        """Take the first one again, and then those behind it, until one has to wait."""
        line = self._lines[listener]
        if line.timer is not None:
            line.timer.cancel()
            line.timer = None
        connection = line.first
        if connection is None:
            return
        self._follow_config()
        decision = self._quotas.resume(connection.peer_host, listener, self._now_ms())
        while True:
            if decision.entry in (Entry.DELAY, Entry.AWAIT_SLOT):
                self._act(connection, line, decision)
                return
            line.first = None
            self._leave_line(connection, line, decision)
            if not line.others:
                return
            connection = line.others.popleft()
            decision = self._quotas.accept(connection.peer_host, listener, self._now_ms())
            line.first = connection

    def _leave_line(self, connection: ServerConnection, line: _EntryLine, decision: EntryDecision) -> None:
        stays = self._act(connection, line, decision)
        if connection.is_closed:
            # Its client has not waited. What was counted for it is given back.
            self.release(connection)
        elif not stays:
            connection.close()
        elif connection in self._open:
            connection.let_in()

    def _dismiss(self, connection: ServerConnection, decision: EntryDecision) -> bool:
        """Close it, at once or later; at once as well if too many wait for that."""
        stays = decision.delay_ms > 0 and len(self._dismissed) < MOST_WAITING
        self._refuse(connection, decision.limit, _reason(decision))
        if stays:
            connection.hold()
            closing = asyncio.get_running_loop().call_later(decision.delay_ms / 1000, self._close_later, connection)
            self._dismissed[connection] = closing
        return stays

    def _close_later(self, connection: ServerConnection) -> None:
        self._dismissed.pop(connection, None)
        connection.close()

    def _refuse(self, connection: ServerConnection, reason: str, explanation: str) -> bool:
        self._metrics.connection_refused(reason)
        logger.warning("refusing a connection from %s: %s", connection.peer_host, explanation)
        return False

    # -- going out -----------------------------------------------------------------------------------------------

    def _leave(self, connection: ServerConnection) -> None:
        del self._open[connection]
        self._quotas.release(connection.peer_host, connection.listener)
        for listener, line in self._lines.items():
            # A delay that has begun is not shortened: the quotas say so again.
            if line.first is not None:
                self._go_on(listener)

    def _close_excess(self) -> None:
        """Others make room for what brokers need among themselves: the ones that have been idle for longest."""
        for listener in self._listeners:
            while self._quotas.is_exceeded(listener.name):
                idle = [each for each in self._open if each.listener == listener.name and not each.is_closed]
                if not idle:
                    break
                oldest = min(idle, key=lambda each: each.last_active)
                logger.info("closing the connection from %s for one of a broker", oldest.peer_host)
                oldest.close()
                self.release(oldest)

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
        self._drop_waiting()
        await asyncio.gather(*(connection.drain_and_close(DRAIN_SECONDS) for connection in list(self._open)))

    def drop_all(self) -> None:
        """Close at once, without answering."""
        self._drop_waiting()
        for connection in list(self._open):
            connection.close()

    def _drop_waiting(self) -> None:
        for line in self._lines.values():
            if line.timer is not None:
                line.timer.cancel()
            waiting = [*([] if line.first is None else [line.first]), *line.others]
            line.first = None
            line.others.clear()
            for connection in waiting:
                connection.close()
        for connection in list(self._dismissed):
            connection.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return int(self._clock.monotonic_ms())

    def _follow_config(self) -> None:
        config = self._config()
        if config is not self._seen_config:
            self._seen_config = config
            self._quotas.configure(connection_limits(config, self._listeners))


def quota_windows(config: BrokerConfig) -> QuotaWindows:
    return QuotaWindows(count=config.quota_window_num, size_ms=config.quota_window_size_seconds * 1000)


def _reason(decision: EntryDecision) -> str:
    if not decision.bound:
        return decision.limit
    return f"{decision.limit}={decision.bound}"
