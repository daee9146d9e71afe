"""Takes frames off a stream of bytes, received in place and bounded in memory.

Both sides of a connection use it: the server for requests, the client for replies. Accumulating a frame with
`bytearray +=` halves the throughput of a broker, so bytes are received straight to where the frame will be.

Four rules keep a peer from using memory that it did not send bytes for:

- the declared length is checked against a limit as soon as its four bytes have arrived;
- the buffer of a frame grows with the bytes that have arrived, at most fourfold ahead of them; a large request is
  mapped, so that the system gives it memory page by page as it is written to, and nothing is copied when it grows;
- a server asks its `RequestMemory` before each step of the growth;
- while no frame is incomplete, a connection owns no buffer: all connections of a loop receive into one staging area,
  whose content is taken over before the loop turns to another connection.

Followers and consumers receive large replies one after the other, and ask for an exception: the memory of replies is
kept, up to a sum, and used again for replies of which nobody has a view any more. Up to that sum they also take memory
for a whole reply at once. Fresh memory, and copying when it grows, costs a consumer of large records half of its time.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable

from tidelog.network.request_memory import ORDINARY_BYTES, SMALL_BYTES, Claim
from tidelog.protocol.codec import ProtocolError
from tidelog.protocol.frames import LENGTH, LENGTH_SIZE

STAGING_BYTES = 256 * 1024
FIRST_ALLOCATION_BYTES = SMALL_BYTES
GROWTH_FACTOR = 4
# How far a mapped frame may be ahead of what has arrived.
MAPPED_STEP_BYTES = 1024 * 1024

# Whole frames, as they are delivered: large requests as views of their mapping, which lives as long as a view does.
Frame = bytearray | memoryview
FrameConsumer = Callable[[Frame], None]
# The largest length that a frame may declare, given its first bytes (the request's API key, as far as it is there).
FrameLimit = Callable[[memoryview], int]


class StagingArea:
    """Where bytes arrive that do not belong to a frame whose length is known. One per event loop."""

    __slots__ = ("view",)

    def __init__(self, size: int = STAGING_BYTES) -> None:
        self.view = memoryview(bytearray(size))


class FrameReceiver:
    """The receiving half of an `asyncio.BufferedProtocol`: `buffer` and `advance` are get_buffer and buffer_updated."""

    __slots__ = (
        "_claim",
        "_frame",
        "_frame_size",
        "_limit",
        "_next_room",
        "_prefix",
        "_received",
        "_reused_bytes",
        "_room",
        "_spares",
        "_staging",
        "_view",
        "is_waiting",
    )

    def __init__(
        self, staging: StagingArea, limit: FrameLimit, claim: Claim | None = None, *, reused_bytes: int = 0
    ) -> None:
        self._staging = staging
        self._limit = limit
        self._claim = claim
        # So much memory is kept at most, and frames are delivered as views of it. The oldest comes first.
        self._reused_bytes = reused_bytes
        self._spares: list[bytearray] = []
        # The first bytes of a frame whose length has not fully arrived.
        self._prefix = b""
        self._frame: bytearray | mmap.mmap | None = None
        self._view: memoryview | None = None
        self._frame_size = 0
        self._received = 0
        # How many bytes of the frame may arrive, and how many once there is memory for more.
        self._room = 0
        self._next_room = 0
        # Set while there is no room: nothing may be read until `go_on`.
        self.is_waiting = False

    def buffer(self) -> memoryview:
        if self._view is not None:
            return self._view[self._received : self._room]
        return self._staging.view

    def advance(self, count: int, deliver: FrameConsumer) -> None:
        """`count` bytes have arrived in `buffer()`. Raises ProtocolError for a length that is out of bounds."""
        frame = self._frame
        if frame is None:
            self._split(self._staging.view[:count], deliver)
            return
        self._received += count
        claim = self._claim
        if claim is not None:
            claim.arrived(count)
        if self._received == self._frame_size:
            view = self._view
            assert view is not None
            self._frame = None
            self._view = None
            whole: Frame = view
            if isinstance(frame, bytearray):
                if len(frame) <= self._reused_bytes:
                    self._keep(frame)
                    whole = view[: self._frame_size]
                else:
                    whole = frame
            if claim is not None:
                claim.complete(self._frame_size)
            deliver(whole)
        elif self._received == self._room:
            self._ask_for_room()

    def go_on(self) -> None:
        """There is room for the next step of the frame's growth."""
        self.is_waiting = False
        self._grow()

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
                raise ProtocolError(f"a frame declares a length of {size} bytes")
            limit = self._limit(arrived[start : start + 2])
            if size > limit:
                raise ProtocolError(f"a frame declares {size} bytes, more than the limit of {limit}")
            if start + size > end:
                self._begin(size, arrived[start:])
                return
            if self._claim is not None:
                self._claim.take(size)
            deliver(bytearray(arrived[start : start + size]))
            position = start + size
        self._prefix = bytes(arrived[position:])

    def _begin(self, size: int, arrived: memoryview) -> None:
        received = len(arrived)
        self._frame_size = size
        self._received = received
        at_once = size if size <= self._reused_bytes else FIRST_ALLOCATION_BYTES
        self._room = min(size, max(at_once, received))
        if self._claim is not None:
            self._claim.begin(size, self._room)
        is_mapped = self._claim is not None and size > ORDINARY_BYTES
        frame: bytearray | mmap.mmap
        frame = mmap.mmap(-1, size) if is_mapped else self._unused_spare(self._room) or bytearray(self._room)
        self._frame = frame
        # Through a view, because a bytearray would copy what it is given twice.
        self._view = memoryview(frame)
        self._view[:received] = arrived
        if received == self._room:
            self._ask_for_room()

    def _keep(self, frame: bytearray) -> None:
        spares = self._spares
        spares.append(frame)
        kept = sum(map(len, spares))
        while kept > self._reused_bytes:
            kept -= len(spares.pop(0))

    def _unused_spare(self, wanted: int) -> bytearray | None:
        for at, spare in enumerate(self._spares):
            if len(spare) < wanted:
                continue
            try:
                # Refused as long as there is a view.
                spare.append(0)
            except BufferError:
                continue
            spare.pop()
            return self._spares.pop(at)
        return None

    def _ask_for_room(self) -> None:
        room = self._room
        further = room + MAPPED_STEP_BYTES if isinstance(self._frame, mmap.mmap) else GROWTH_FACTOR * room
        self._next_room = min(self._frame_size, further)
        if self._claim is None or self._claim.grow(self._next_room - room):
            self._grow()
        else:
            self.is_waiting = True

    def _grow(self) -> None:
        self._room = self._next_room
        frame = self._frame
        if isinstance(frame, bytearray):
            larger = bytearray(self._room)
            view = memoryview(larger)
            view[: self._received] = memoryview(frame)[: self._received]
            self._frame = larger
            self._view = view
