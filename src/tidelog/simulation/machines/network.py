"""The simulated network: hosts, links between them, listeners, and what goes wrong on the way.

Links are one-way and belong to a pair of hosts. A blocked link says nothing: bytes wait, as TCP repeats them, and
arrive when the link works again, unless the connection is given up by then. Lost packets show as delay, since TCP
repeats them too, and broken connections as resets. So nothing arrives twice on a connection. Requests do come twice
over two of them, whenever an answer is lost together with its connection and the request is sent again.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import random
import ssl
from collections import defaultdict
from collections.abc import Callable
from dataclasses import field

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.network.handshakes import CurrentContext
from tidelog.network.port import SYSTEM_SIZED, AnyProtocol, Listening
from tidelog.simulation.checks.trace import Trace
from tidelog.simulation.machines.loop import SimulatedLoop
from tidelog.simulation.machines.process import CURRENT, Process, os_error
from tidelog.simulation.machines.transport import Item, Link, Signal, SimulatedTransport

FIRST_EPHEMERAL_PORT = 40_000
# A SYN that gets no answer is sent again after one second, two, four and so on, six times, as Linux does it.
CONNECT_ATTEMPTS = 6
# How long after the end of a partition TCP tries again; it has backed off in the meantime.
REPEAT_SECONDS = (0.0, 1.5)
LOST_PACKET_SECONDS = (0.2, 1.0)
# Of connections that were stalled by a partition, so many do not come back.
RESET_AFTER_PARTITION = 0.3
# Of chunks, so many arrive in two pieces.
SPLIT = 0.02


class Fabric:
    """All hosts, links and connections of a world."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random, trace: Trace) -> None:
        self.loop = loop
        self.trace = trace
        self._chance = chance
        self._links: defaultdict[tuple[str, str], Link] = defaultdict(Link)
        self._listeners: dict[tuple[str, int], _SimulatedListening] = {}
        # In the order in which they were made: sets of objects have another order in each run.
        self._connections: dict[SimulatedTransport, None] = {}
        # Sides whose peer lost power: nothing reaches them, until the machine is back and does not know them.
        self._orphans: dict[SimulatedTransport, str] = {}
        self._unreachable: set[str] = set()
        self._next_port = FIRST_EPHEMERAL_PORT
        self._next_number = 0

    # -- links ---------------------------------------------------------------------------------------------------

    def link(self, source: str, target: str) -> Link:
        return self._links[source, target]

    def block(self, source: str, target: str) -> None:
        self.link(source, target).blocked += 1

    def unblock(self, source: str, target: str) -> None:
        """Stalled bytes go on; some of the connections do not survive it."""
        link = self.link(source, target)
        if link.blocked == 0:
            return
        link.blocked -= 1
        if link.blocked:
            return
        held, link.held = link.held, []
        fates: dict[SimulatedTransport, float | None] = {}
        for transport, item in held:
            if transport not in fates:
                broken = not transport.closed and self._chance.random() < RESET_AFTER_PARTITION
                fates[transport] = None if broken else self._chance.uniform(*REPEAT_SECONDS)
            fate = fates[transport]
            if fate is not None:
                self._schedule(transport, item, fate)
        for transport, fate in fates.items():
            if fate is None:
                self.break_connection(transport)

    def heal(self) -> None:
        for (source, target), link in list(self._links.items()):
            while link.blocked:
                self.unblock(source, target)
            link.calm()

    def break_connection(self, transport: SimulatedTransport) -> None:
        """Both sides find out, each when the reset reaches it."""
        self.trace.event(self.loop.time(), "connection-reset", str(transport.number))
        error = os_error(errno.ECONNRESET)
        for side in (transport, transport.peer):
            self.loop.call_later(self.delay(side), side.break_off, error, context=side.context)

    def break_connections(self, host: str, share: float) -> None:
        """Break some of the connections from and to a host."""
        for transport in list(self._connections):
            stalled = transport.link.blocked or transport.peer.link.blocked
            if transport.process.host == host and not stalled and self._chance.random() < share:
                self.break_connection(transport)

    # -- bytes on their way --------------------------------------------------------------------------------------

    def delay(self, transport: SimulatedTransport) -> float:
        low, high = transport.link.latency
        return low + (high - low) * self._chance.random()

    def transmit(self, transport: SimulatedTransport, item: Item) -> None:
        link = transport.link
        if isinstance(item, bytes):
            self.trace.bytes_moved(self.loop.time(), f"{transport.process.name} #{transport.number}", item)
        if link.blocked:
            link.held.append((transport, item))
            return
        if link.lost_answers and isinstance(item, bytes) and self._chance.random() < link.lost_answers:
            self.trace.counts["answer-lost"] += 1
            self.break_connection(transport)
            return
        extra = 0.0
        if link.loss and self._chance.random() < link.loss:
            self.trace.counts["packet-loss"] += 1
            extra = self._chance.uniform(*LOST_PACKET_SECONDS)
        if link.reset and self._chance.random() < link.reset:
            self.break_connection(transport)
            # What was under way arrives or not: sometimes the request is carried out, and only its reply is lost.
            if self._chance.random() < 0.5:
                return
        if isinstance(item, bytes) and len(item) > 1 and self._chance.random() < SPLIT:
            at = self._chance.randrange(1, len(item))
            self._schedule(transport, item[:at], extra)
            item = item[at:]
        self._schedule(transport, item, extra)

    def _schedule(self, transport: SimulatedTransport, item: Item, extra: float) -> None:
        arrival = max(self.loop.time() + extra + self.delay(transport), transport.last_arrival)
        transport.last_arrival = arrival
        peer = transport.peer
        self.loop.call_at(arrival, peer.arrive, item, context=peer.context)

    def forget(self, transport: SimulatedTransport) -> None:
        self._connections.pop(transport, None)

    # -- processes -----------------------------------------------------------------------------------------------

    def process_killed(self, process: Process) -> None:
        """The kernel ends the connections of a process that died."""
        for transport in self._release(process):
            self.transmit(transport, Signal.RESET)

    def power_lost(self, process: Process) -> None:
        """Nobody is notified. Whoever sends something gets no answer."""
        self._unreachable.add(process.host)
        for transport in self._release(process):
            self._orphans[transport.peer] = process.host

    def machine_started(self, host: str) -> None:
        """The machine knows nothing of its old connections, and says so when bytes for them come."""
        self._unreachable.discard(host)
        error = os_error(errno.ECONNRESET)
        for transport in [each for each, dead_host in self._orphans.items() if dead_host == host]:
            del self._orphans[transport]
            self.loop.call_later(self._chance.uniform(0.0, 5.0), transport.break_off, error, context=transport.context)

    def _release(self, process: Process) -> list[SimulatedTransport]:
        for address, listening in list(self._listeners.items()):
            if listening.process is process:
                del self._listeners[address]
        released = [each for each in self._connections if each.process is process]
        for transport in released:
            transport.closed = True
            del self._connections[transport]
        return released

    # -- listening and connecting --------------------------------------------------------------------------------

    def listen(
        self, process: Process, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> _SimulatedListening:
        if port == 0:
            port = self._take_port()
        host = host or process.host
        if (host, port) in self._listeners:
            raise os_error(errno.EADDRINUSE)
        listening = _SimulatedListening(self, process, factory, host, port)
        self._listeners[host, port] = listening
        return listening

    def stop_listening(self, listening: _SimulatedListening) -> None:
        if self._listeners.get((listening.host, listening.port)) is listening:
            del self._listeners[listening.host, listening.port]

    async def connect(
        self, process: Process, factory: Callable[[], AnyProtocol], host: str, port: int
    ) -> tuple[SimulatedTransport, AnyProtocol]:
        there, back = self.link(process.host, host), self.link(host, process.host)
        for attempt in range(CONNECT_ATTEMPTS):
            low, high = there.latency
            await asyncio.sleep(self._chance.uniform(low, high))
            if not there.blocked and not back.blocked and host not in self._unreachable:
                break
            await asyncio.sleep(2.0**attempt)
        else:
            raise os_error(errno.ETIMEDOUT)
        listening = self._listeners.get((host, port))
        if listening is None or there.rejects:
            self.trace.counts["connection-refused"] += 1
            await asyncio.sleep(self._chance.uniform(*back.latency))
            raise os_error(errno.ECONNREFUSED)
        near = self._pair(process, listening)
        # The kernel accepts before the process looks, even if the process is paused.
        self.loop.call_soon(near.peer.accepted, listening.factory, context=listening.context)
        try:
            await asyncio.sleep(self._chance.uniform(*back.latency))
        except BaseException:
            near.abort()
            raise
        if near.closed:
            raise os_error(errno.ECONNRESET)
        protocol = factory()
        near.made(protocol)
        return near, protocol

    def is_known(self, host: str) -> bool:
        return any(each == host for each, _ in self._listeners)

    def _pair(self, process: Process, listening: _SimulatedListening) -> SimulatedTransport:
        number = self._next_number
        self._next_number += 1
        near_address = (process.host, self._take_port())
        far_address = (listening.host, listening.port)
        there = self.link(process.host, listening.process.host)
        back = self.link(listening.process.host, process.host)
        near = SimulatedTransport(self, number, process, there, near_address, far_address)
        far = SimulatedTransport(self, number, listening.process, back, far_address, near_address)
        near.peer, far.peer = far, near
        self._connections[near] = self._connections[far] = None
        return near

    def _take_port(self) -> int:
        self._next_port += 1
        return self._next_port


@dataclass(slots=True, eq=False)
class _SimulatedListening:
    fabric: Fabric
    process: Process
    factory: Callable[[], asyncio.BaseProtocol]
    host: str
    port: int
    context: contextvars.Context = field(default_factory=contextvars.copy_context)

    def close(self) -> None:
        self.fabric.stop_listening(self)


@dataclass(frozen=True, slots=True)
class ProcessNetwork:
    """The network port of one process."""

    fabric: Fabric
    process: Process

    async def listen(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        send_buffer_bytes: int = SYSTEM_SIZED,
        tls: CurrentContext | None = None,
    ) -> Listening:
        """Every simulated connection has the same window, and none is encrypted."""
        assert tls is None, "there is no TLS in simulations"
        self.process.check_alive()
        assert CURRENT.get() is self.process, "a process listens from its own code"
        return self.fabric.listen(self.process, protocol_factory, host, port)

    async def connect(
        self,
        protocol_factory: Callable[[], AnyProtocol],
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> tuple[asyncio.Transport, AnyProtocol]:
        """Nobody listens in on simulated connections, so they have no TLS."""
        assert tls is None, "simulated connections have no TLS"
        self.process.check_alive()
        return await self.fabric.connect(self.process, protocol_factory, host, port)

    async def address_of(self, host: str) -> str | None:
        """Hosts have no addresses but their names."""
        return host if self.fabric.is_known(host) else None

    async def refuses(self, host: str, port: int, timeout_seconds: float) -> bool:
        self.process.check_alive()
        try:
            async with asyncio.timeout(timeout_seconds):
                transport, _ = await self.fabric.connect(self.process, asyncio.Protocol, host, port)
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        transport.abort()
        return False
