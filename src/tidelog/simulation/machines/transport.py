"""One side of a simulated connection, with the interface of asyncio's transports.

TCP's promises hold: bytes arrive in order and at most once, or the connection breaks. A receiver that does not read
stops the sender when the window is full, and then the sender's protocol is asked to pause.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable
from dataclasses import field
from enum import Enum, auto
from typing import Any, Protocol

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.simulation.machines.loop import SimulatedLoop
from tidelog.simulation.machines.process import Process

# What may be under way or unread in one direction before the sender has to wait.
WINDOW_BYTES = 256 * 1024
DEFAULT_HIGH_WATER = 64 * 1024
# Seconds that a chunk takes on a calm link, from and to.
LATENCY_SECONDS = (0.0002, 0.002)


class Signal(Enum):
    """What can travel beside bytes."""

    END = auto()
    RESET = auto()


Item = bytes | Signal


@dataclass(slots=True, eq=False)
class Link:
    """One direction between two hosts."""

    # How many partitions it is part of at the moment; more than none and nothing gets through.
    blocked: int = 0
    # Whether a firewall refuses new connections in the name of the target, as REJECT rules do.
    rejects: bool = False
    # Seconds, from and to.
    latency: tuple[float, float] = LATENCY_SECONDS
    # The chance that a chunk is delayed by a repetition, and that it breaks its connection.
    loss: float = 0.0
    reset: float = 0.0
    # The chance that a chunk is lost with its connection: what it answers has been done, and is asked for again.
    lost_answers: float = 0.0
    held: list[tuple[SimulatedTransport, Item]] = field(default_factory=list)

    def calm(self) -> None:
        self.rejects = False
        self.latency = LATENCY_SECONDS
        self.loss = self.reset = self.lost_answers = 0.0


class Medium(Protocol):
    """What carries items from one end of a connection to the other."""

    @property
    def loop(self) -> SimulatedLoop: ...

    def transmit(self, transport: SimulatedTransport, item: Item) -> None: ...

    def forget(self, transport: SimulatedTransport) -> None: ...

    def delay(self, transport: SimulatedTransport) -> float: ...


class SimulatedTransport(asyncio.Transport):
    """Made in pairs by `tidelog.simulation.machines.network`."""

    def __init__(
        self,
        medium: Medium,
        number: int,
        process: Process,
        link: Link,
        address: tuple[str, int],
        peer_address: tuple[str, int],
    ) -> None:
        super().__init__({"sockname": address, "peername": peer_address})
        self.number = number
        self.process = process
        self.link = link
        self.peer: SimulatedTransport
        self.context: contextvars.Context = process.context
        # When the last item will arrive; nothing overtakes it.
        self.last_arrival = 0.0
        # The kernel's view: no more bytes go out or come in.
        self.closed = False
        self._medium = medium
        self._loop = medium.loop
        self._protocol: asyncio.BaseProtocol | None = None
        self._buffered: asyncio.BufferedProtocol | None = None
        self._closing = False
        self._lost = False
        self._reading_paused = False
        self._writing_paused = False
        self._high_water = DEFAULT_HIGH_WATER
        self._low_water = DEFAULT_HIGH_WATER // 4
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._under_way_bytes = 0
        self._unread: deque[Item] = deque()

    def __repr__(self) -> str:
        return f"<connection {self.number} of {self.process.name}>"

    # -- asyncio's interface -------------------------------------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol
        self._buffered = protocol if isinstance(protocol, asyncio.BufferedProtocol) else None

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._reading_paused = True

    def resume_reading(self) -> None:
        if self._closing or not self._reading_paused:
            return
        self._reading_paused = False
        self._loop.call_soon(self._read_on, context=self.context)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if high is None:
            high = DEFAULT_HIGH_WATER if low is None else 4 * low
        self._high_water = high
        self._low_water = high // 4 if low is None else low
        self._pause_if_full()

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not self._closing and len(data):
            # Copied now, as a kernel does: the writer may use its buffer for something else.
            self._send(bytes(data))

    def close(self) -> None:
        """Send what is waiting, then end."""
        if self._closing:
            return
        self._closing = True
        self._unread.clear()
        if not self._unsent:
            self._end(Signal.END)

    def abort(self) -> None:
        """End now; what is waiting is lost."""
        if self._closing and self.closed:
            return
        self._closing = True
        self._unread.clear()
        self._unsent.clear()
        self._unsent_bytes = 0
        self._end(Signal.RESET)

    # -- the sending side ----------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        if self._unsent or self._under_way_bytes >= WINDOW_BYTES:
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            self._pause_if_full()
            return
        self._under_way_bytes += len(data)
        self._medium.transmit(self, data)

    def _pause_if_full(self) -> None:
        if self._unsent_bytes > self._high_water and not self._writing_paused and self._protocol is not None:
            self._writing_paused = True
            self._protocol.pause_writing()

    def window_opened(self) -> None:
        """The peer has read: go on sending."""
        if self.closed:
            return
        while self._unsent and self._under_way_bytes < WINDOW_BYTES:
            data = self._unsent.popleft()
            self._unsent_bytes -= len(data)
            self._under_way_bytes += len(data)
            self._medium.transmit(self, data)
        if self._writing_paused and self._unsent_bytes <= self._low_water:
            self._writing_paused = False
            self.get_protocol().resume_writing()
        if self._closing and not self._unsent:
            self._end(Signal.END)

    def _end(self, signal: Signal, error: OSError | None = None) -> None:
        if self.closed:
            return
        self.closed = True
        self._medium.transmit(self, signal)
        self._medium.forget(self)
        self._loop.call_soon(self._tell_lost, error, context=self.context)

    def _tell_lost(self, error: Exception | None) -> None:
        if not self._lost and self._protocol is not None:
            self._lost = True
            self._protocol.connection_lost(error)

    # -- the receiving side --------------------------------------------------------------------------------------

    def accepted(self, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        """The listening process has noticed the connection."""
        if not self.closed:
            self.made(factory())

    def made(self, protocol: asyncio.BaseProtocol) -> None:
        """The handshake is over on this side."""
        self.set_protocol(protocol)
        protocol.connection_made(self)
        self._read_on()

    def arrive(self, item: Item) -> None:
        """The network calls this, in the process of this side."""
        if self.closed:
            return
        if item is Signal.RESET:
            self.break_off(ConnectionResetError(104, "Connection reset by peer"))
            return
        if self._protocol is None or self._reading_paused or self._unread:
            self._unread.append(item)
            return
        self._take(item)

    def break_off(self, error: OSError) -> None:
        """The connection is gone without this side having asked for it."""
        if self.closed:
            return
        self.closed = True
        self._closing = True
        self._unsent.clear()
        self._unsent_bytes = 0
        self._medium.forget(self)
        self._loop.call_soon(self._tell_lost, error, context=self.context)

    def _read_on(self) -> None:
        while self._unread and not self._reading_paused and not self._closing:
            self._take(self._unread.popleft())

    def _take(self, item: Item) -> None:
        if self._closing:
            return
        if isinstance(item, Signal):
            if not self.get_protocol().eof_received():  # type: ignore[attr-defined]
                self.close()
            return
        taken = self._take_buffered(item) if self._buffered is not None else self._take_whole(item)
        self._acknowledge(taken)
        if taken < len(item):
            self._unread.appendleft(item[taken:])

    def _take_buffered(self, data: bytes) -> int:
        protocol = self._buffered
        assert protocol is not None
        size = len(data)
        position = 0
        while position < size and not self._reading_paused and not self._closing:
            buffer = memoryview(protocol.get_buffer(-1))
            count = min(len(buffer), size - position)
            buffer[:count] = data[position : position + count]
            position += count
            protocol.buffer_updated(count)
        return position

    def _take_whole(self, data: bytes) -> int:
        self.get_protocol().data_received(data)  # type: ignore[attr-defined]
        return len(data)

    def _acknowledge(self, count: int) -> None:
        peer = self.peer
        peer._under_way_bytes -= count
        if peer._unsent and not peer.closed:
            self._loop.call_later(self._medium.delay(self), peer.window_opened, context=peer.context)
