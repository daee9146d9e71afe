"""How many connections there may be, and how fast they may come in (KIP-308, KIP-402, KIP-612). Kafka's rules.

A listener takes its connections one by one, as the acceptor thread of Kafka does:

1. The connection is counted in the creation rates of the broker and of its listener. If one of them is above its limit,
   the listener waits, one window at most, and takes no other connection meanwhile. So the rate is kept by accepting
   late, and nobody is refused for it.
2. If there is no slot, by max.connections of the listener or of the broker, it waits until one is released. The
   listener between brokers is protected: if there are others, clients cannot use up its slots or its rate.
3. If the address opens connections faster than its quota, this one is closed, after the time that brings the rate back
   to the quota: a client that is refused at once would try again at once. It does not count in any rate.
4. If the address has all the connections it may have, this one is closed at once.

`ConnectionQuotas` decides. Accepting, waiting and closing are for the caller, and so is resolving host names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from enum import Enum

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.quotas.book import AddressRates
from tidelog.security.quotas.entities import AddressKind, address_kind, canonical_address
from tidelog.security.quotas.rates import QuotaWindows, SampledRate
from tidelog.security.quotas.throttling import rate_throttle_ms
from tidelog.security.quotas.usage import MAX_ACCOUNTS, AccountTable

# The default of each limit, which stands for none.
UNLIMITED = (1 << 31) - 1

_NUMBER = re.compile(r"[0-9]+")


class Entry(Enum):
    """What is to be done with a connection."""

    ADMIT = "admit"
    # Ask with `resume` after `delay_ms`.
    DELAY = "delay"
    # Ask with `resume` when a connection was released or a limit changed.
    AWAIT_SLOT = "await a slot"
    # The listener is still taking another connection: ask with `accept` when that one was admitted or closed.
    QUEUE = "queue"
    # Close it after `delay_ms`, 0 for at once.
    CLOSE = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDecision:
    entry: Entry
    delay_ms: int = 0
    # The property or the quota that is the reason, with its value, if there is one.
    limit: str = ""
    bound: int = 0


_ADMIT = EntryDecision(entry=Entry.ADMIT)
_QUEUE = EntryDecision(entry=Entry.QUEUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    """Of one listener: listener.name.<name>.max.connections and listener.name.<name>.max.connection.creation.rate."""

    max_connections: int = UNLIMITED
    creation_rate: int = UNLIMITED


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The properties of a broker. All its listeners are named, with or without limits of their own."""

    listeners: Mapping[str, ListenerLimits]
    inter_broker_listener: str | None = None
    max_connections: int = UNLIMITED
    creation_rate: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    # By address, written canonically.
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)

    def is_protected(self, listener: str) -> bool:
        return listener == self.inter_broker_listener and len(self.listeners) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOverrides:
    """max.connections.per.ip.overrides: numbers by address, and by host names that are still to be resolved."""

    addresses: Mapping[str, int]
    host_names: Mapping[str, int]


def connection_overrides(text: str) -> ConnectionOverrides:
    """From pairs such as `hostName:100,127.0.0.1:200`. The last colon parts an IPv6 address from its number, and
    brackets around it are allowed. Raises ValueError."""
    addresses: dict[str, int] = {}
    host_names: dict[str, int] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        host, _, number = (part.strip() for part in pair.rpartition(":"))
        if _NUMBER.fullmatch(number) is None or int(number) > UNLIMITED:
            raise ValueError(f"{pair!r} must end with a colon and a number from 0 to {UNLIMITED}, such as {host}:100")
        match address_kind(host):
            case AddressKind.ADDRESS:
                addresses[canonical_address(host) or host] = int(number)
            case AddressKind.HOST_NAME:
                host_names[host] = int(number)
            case AddressKind.NEITHER:
                raise ValueError(f"{pair!r} must begin with an IP address or a host name, such as 127.0.0.1:{number}")
    return ConnectionOverrides(addresses=addresses, host_names=host_names)


class _Lane:
    """One listener, and the connection that it is taking."""

    __slots__ = ("free_at_ms", "is_taking", "open", "rate")

    def __init__(self, windows: QuotaWindows) -> None:
        self.rate = SampledRate(windows)
        self.open = 0
        self.is_taking = False
        self.free_at_ms = 0


class ConnectionQuotas:
    """`accept` each connection, `resume` it if it has to wait, and `release` what was admitted and is closed.

    One that its client closes while it waits is resumed like any other: its listener has to wait in any case.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        windows: QuotaWindows,
        address_rates: AddressRates | None = None,
        max_addresses: int = MAX_ACCOUNTS,
    ) -> None:
        """`max_addresses` bounds the rates that are measured; addresses beyond it share one (`usage.py`)."""
        self._windows = windows
        self._rate = SampledRate(windows)
        self._address_rates = address_rates or AddressRates()
        self._accounts: AccountTable[str, SampledRate] = AccountTable(
            self._address_rate, lambda limit, now_ms: SampledRate(windows), max_accounts=max_addresses
        )
        self._limits = limits
        self._lanes = {listener: _Lane(windows) for listener in limits.listeners}
        self._per_address: Counter[str] = Counter()
        self._open = 0

    def __len__(self) -> int:
        """How many connections are open."""
        return self._open

    def open_from(self, address: str) -> int:
        return self._per_address[canonical_address(address) or address]

    def configure(self, limits: ConnectionLimits) -> None:
        """Other limits. They take effect immediately, except that a delay that has begun is not shortened."""
        self._limits = limits
        for listener in limits.listeners:
            if listener not in self._lanes:
                self._lanes[listener] = _Lane(self._windows)

    def adopt(self, address_rates: AddressRates) -> None:
        """Other quotas of addresses, their host names resolved."""
        self._address_rates = address_rates
        self._accounts.adopt(self._address_rate)

    def accept(self, address: str, listener: str, now_ms: int) -> EntryDecision:
        """A connection has come in."""
        lane = self._lanes[listener]
        if lane.is_taking:
            return _QUEUE
        lane.is_taking = True
        lane.free_at_ms = now_ms + self._count_arrival(lane, listener, now_ms)
        return self.resume(address, listener, now_ms)

    def resume(self, address: str, listener: str, now_ms: int) -> EntryDecision:
        """The connection that this listener is taking. It is taken when this says neither DELAY nor AWAIT_SLOT."""
        lane = self._lanes[listener]
        if not lane.is_taking:
            raise ValueError(f"the listener {listener} is not taking a connection; begin with accept")
        if now_ms < lane.free_at_ms:
            limit = "max.connection.creation.rate"
            return EntryDecision(entry=Entry.DELAY, delay_ms=lane.free_at_ms - now_ms, limit=limit)
        full = self._full(lane, listener)
        if full is not None:
            return full
        lane.is_taking = False
        return self._enter(canonical_address(address) or address, lane, listener, now_ms)

    def release(self, address: str, listener: str) -> None:
        """A connection that was admitted is closed."""
        address = canonical_address(address) or address
        lane = self._lanes[listener]
        if not self._per_address[address] or not lane.open:
            raise ValueError(f"no connection from {address} to the listener {listener} is open")
        self._per_address[address] -= 1
        if not self._per_address[address]:
            del self._per_address[address]
        lane.open -= 1
        self._open -= 1

    def is_exceeded(self, listener: str) -> bool:
        """Whether there are more than max.connections, which a protected listener may lead to. Then the connection of
        this listener that has been idle for longest is closed."""
        return self._open > self._limits.max_connections and not self._limits.is_protected(listener)

    def expire(self, now_ms: int) -> int:
        """Drops the rates of addresses that have been idle for an hour."""
        return self._accounts.expire(now_ms)

    def _count_arrival(self, lane: _Lane, listener: str, now_ms: int) -> int:
        broker_ms = 0
        if not self._limits.is_protected(listener):
            broker_ms = self._throttle_ms(self._rate, self._limits.creation_rate, now_ms)
        return max(broker_ms, self._throttle_ms(lane.rate, self._listener_limits(listener).creation_rate, now_ms))

    def _full(self, lane: _Lane, listener: str) -> EntryDecision | None:
        own = self._listener_limits(listener).max_connections
        if lane.open >= own:
            limit = f"listener.name.{listener.lower()}.max.connections"
            return EntryDecision(entry=Entry.AWAIT_SLOT, limit=limit, bound=own)
        if self._limits.is_protected(listener) or self._open < self._limits.max_connections:
            return None
        return EntryDecision(entry=Entry.AWAIT_SLOT, limit="max.connections", bound=self._limits.max_connections)

    def _enter(self, address: str, lane: _Lane, listener: str, now_ms: int) -> EntryDecision:
        account = self._accounts.find(address, now_ms)
        if account is not None:
            throttle_ms = self._throttle_ms(account.measure, account.limit, now_ms)
            if throttle_ms > 0:
                self._uncount(account.measure, lane, listener, now_ms)
                limit = "connection_creation_rate"
                return EntryDecision(entry=Entry.CLOSE, delay_ms=throttle_ms, limit=limit, bound=int(account.limit))
        most = self._limits.per_ip_overrides.get(address, self._limits.max_connections_per_ip)
        if self._per_address[address] >= most:
            return EntryDecision(entry=Entry.CLOSE, limit="max.connections.per.ip", bound=most)
        self._per_address[address] += 1
        lane.open += 1
        self._open += 1
        return _ADMIT

    def _uncount(self, rate: SampledRate, lane: _Lane, listener: str, now_ms: int) -> None:
        rate.record(-1.0, now_ms)
        lane.rate.record(-1.0, now_ms)
        if not self._limits.is_protected(listener):
            self._rate.record(-1.0, now_ms)

    def _throttle_ms(self, rate: SampledRate, limit: float, now_ms: int) -> int:
        rate.record(1.0, now_ms)
        return rate_throttle_ms(rate, limit, now_ms, longest_ms=self._windows.size_ms)

    def _address_rate(self, address: str) -> float | None:
        rate = self._address_rates.of(address)
        return None if rate is None or rate == UNLIMITED else float(rate)

    def _listener_limits(self, listener: str) -> ListenerLimits:
        return self._limits.listeners.get(listener, ListenerLimits())
