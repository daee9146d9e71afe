"""Takes frames off a stream of bytes, received in place and bounded in memory.

Both sides of a connection use it: the server for requests, the client for replies. Accumulating a frame with
`bytearray +=` halves the throughput of a broker, so bytes are received straight to where the frame will be.

Three rules keep a peer from using memory that it did not send bytes for:

- the declared length is checked against a limit as soon as the four bytes of it are there;
- the buffer of a frame grows with the bytes that have arrived, at most fourfold ahead of them;
- while no frame is incomplete, a connection owns no buffer: all connections of a loop receive into one staging area,
  whose content is taken over before the loop turns to another connection.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.frames import LENGTH, LENGTH_SIZE

STAGING_BYTES = 256 * 1024
FIRST_ALLOCATION_BYTES = 64 * 1024
GROWTH_FACTOR = 4

FrameConsumer = Callable[[bytearray], None]
# The largest length that a frame may declare, given its first bytes (the request's API key, as far as it is there).
FrameLimit = Callable[[memoryview], int]


class StagingArea:
    """Where bytes arrive that do not belong to a frame whose length is known. One per event loop."""

    __slots__ = ("view",)

    def __init__(self, size: int = STAGING_BYTES) -> None:
        self.view = memoryview(bytearray(size))


class FrameReceiver:
    """The receiving half of an `asyncio.BufferedProtocol`: `buffer` and `advance` are get_buffer and buffer_updated."""

    __slots__ = ("_frame", "_frame_size", "_limit", "_prefix", "_received", "_staging", "_view")

    def __init__(self, staging: StagingArea, limit: FrameLimit) -> None:
        self._staging = staging
        self._limit = limit
        # The first bytes of a frame of which not even the length has arrived whole.
        self._prefix = b""
        self._frame: bytearray | None = None
        self._view: memoryview | None = None
        self._frame_size = 0
        self._received = 0

    @property
    def incomplete(self) -> bool:
        """Whether a frame has begun that has not ended."""
        return self._frame is not None or bool(self._prefix)

    def buffer(self) -> memoryview:
        if self._view is not None:
            return self._view[self._received :]
        return self._staging.view

    def advance(self, count: int, deliver: FrameConsumer) -> None:
        """`count` bytes have arrived in `buffer()`. Raises ProtocolError for a length that is out of bounds."""
        frame = self._frame
        if frame is None:
            self._split(self._staging.view[:count], deliver)
            return
        self._received += count
        if self._received == self._frame_size:
            self._frame = None
            self._view = None
            deliver(frame)
        elif self._received == len(frame):
            self._grow(frame)

    def _split(self, arrived: memoryview, deliver: FrameConsumer) -> None:
        if self._prefix:
            arrived = memoryview(self._prefix + bytes(arrived))
            self._prefix = b""
        position = 0
        end = len(arrived)
        while end - position >= LENGTH_SIZE:
            (size,) = LENGTH.unpack_from(arrived, position)
            start = position + LENGTH_SIZE
            if size < 0:
                raise ProtocolError(f"a frame declares the length {size}")
            limit = self._limit(arrived[start : start + 2])
            if size > limit:
                raise ProtocolError(f"a frame declares {size} bytes, more than the {limit} that are allowed for it")
            if start + size > end:
                self._begin(size, arrived[start:])
                return
            deliver(bytearray(arrived[start : start + size]))
            position = start + size
        self._prefix = bytes(arrived[position:])

    def _begin(self, size: int, arrived: memoryview) -> None:
        received = len(arrived)
        capacity = min(size, max(FIRST_ALLOCATION_BYTES, GROWTH_FACTOR * received))
        frame = bytearray(capacity)
        frame[:received] = arrived
        self._frame = frame
        self._view = memoryview(frame)
        self._frame_size = size
        self._received = received

    def _grow(self, frame: bytearray) -> None:
        larger = bytearray(min(self._frame_size, GROWTH_FACTOR * len(frame)))
        larger[: len(frame)] = frame
        self._frame = larger
        self._view = memoryview(larger)
