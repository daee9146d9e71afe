"""Replies with bytes that are still in their files: the kernel sends them from there to the socket.

The event loop's transport cannot do that, so such a reply goes past it, on a duplicate of its socket, and only while
the transport has nothing left to send. What does not fit into the socket waits here until the loop says that there is
room, and all later replies wait behind it. Whatever goes wrong with the short way, the long one is open: what is left
is read and given to the transport, which then finds out for itself whether the connection is at fault.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from tidelog.model.unread import BytesChanged, UnreadBytes
from tidelog.protocol.codec import Buffer
from tidelog.protocol.frames import Piece

# No system refuses so many in one call.
_MOST_IN_ONE_CALL: Final = 64
# Only here is sendfile known to send all it says, and nothing else.
_IS_LINUX: Final = sys.platform == "linux"
_MORE_FOLLOWS: Final = socket.MSG_MORE if sys.platform == "linux" else 0


def can_send_files(transport: asyncio.Transport) -> bool:
    """Whether what is sent on the socket of a transport arrives as it is: a simulated one has no socket, and on one
    with TLS it would bypass the encryption."""
    return (
        _IS_LINUX
        and transport.get_extra_info("socket") is not None
        and transport.get_extra_info("sslcontext") is None
        and transport.get_extra_info("ssl_object") is None
    )


def _duplicate(shared: Any) -> socket.socket:
    """Raises OSError."""
    descriptor = os.dup(shared.fileno())
    try:
        return socket.socket(shared.family, shared.type, shared.proto, fileno=descriptor)
    except OSError:
        os.close(descriptor)
        raise


class FileSender:
    """Sends the replies of one connection from the first with unread bytes until nothing is left to be sent."""

    def __init__(
        self,
        transport: asyncio.Transport,
        *,
        high_water: int,
        room: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """`room` is called by the loop when something has been sent of what waited, unless too much is left."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._high_water = high_water
        self._room = room
        self._failed = failed
        self._waiting: deque[Piece] = deque()
        self._waiting_bytes = 0
        # Of our own, while something waits: the transport may close its descriptor at any time.
        self._socket: socket.socket | None = None
        self._watched = False
        self.is_full = False

    @property
    def is_busy(self) -> bool:
        """Then nothing may be given to the transport: it would overtake what waits here."""
        return self._socket is not None

    def send(self, pieces: Sequence[Piece]) -> None:
        if self._socket is not None:
            self._waiting.extend(pieces)
            self._waiting_bytes += sum(map(len, pieces))
            self._note_fullness()
            return
        if self._transport.is_closing():
            # Its descriptor may be another connection's by now.
            return
        self._waiting.extend(pieces)
        if self._transport.get_write_buffer_size():
            self._take_the_long_way()
            return
        try:
            self._socket = _duplicate(self._transport.get_extra_info("socket"))
        except OSError:
            # Most likely there are no descriptors left.
            self._take_the_long_way()
            return
        self._waiting_bytes = sum(map(len, pieces))
        self._go_on()

    def stop(self) -> None:
        """The connection ends: what waits is not sent any more."""
        self._waiting.clear()
        self._waiting_bytes = 0
        self.is_full = False
        if self._socket is not None:
            if self._watched:
                self._watched = False
                self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _writable(self) -> None:
        self._go_on()
        if not self.is_full:
            self._room()

    def _go_on(self) -> None:
        connection = self._socket
        if connection is None:
            return
        try:
            while self._waiting and self._send_next(connection):
                pass
        except BytesChanged as change:
            self._refuse(str(change))
            return
        except OSError:
            # The file's fault or the connection's: one of the two does not happen again if they are used apart.
            self._take_the_long_way()
            return
        if not self._waiting:
            self.stop()
            return
        if not self._watched:
            self._watched = True
            self._loop.add_writer(connection.fileno(), self._writable)
        self._note_fullness()

    def _send_next(self, connection: socket.socket) -> bool:
        """Send one unread piece, or those before the next one. False if the socket takes no more for now."""
        first = self._waiting[0]
        if isinstance(first, UnreadBytes):
            try:
                self._waiting_bytes -= first.send(connection.fileno())
            except BlockingIOError:
                return False
            if len(first):
                return False
            self._waiting.popleft()
            return True
        buffers: list[Buffer] = []
        flags = socket.MSG_DONTWAIT
        for piece in self._waiting:
            if isinstance(piece, UnreadBytes):
                # So that the few bytes before the records are not a packet of their own.
                flags |= _MORE_FOLLOWS
                break
            if len(buffers) == _MOST_IN_ONE_CALL:
                break
            buffers.append(piece)
        try:
            sent = connection.sendmsg(buffers, (), flags)
        except BlockingIOError:
            return False
        self._waiting_bytes -= sent
        for buffer in buffers:
            self._waiting.popleft()
            if sent < len(buffer):
                self._waiting.appendleft(memoryview(buffer)[sent:])
                return False
            sent -= len(buffer)
        return True

    def _note_fullness(self) -> None:
        if self._waiting_bytes > self._high_water:
            self.is_full = True
        elif self._waiting_bytes <= self._high_water // 4:
            self.is_full = False

    def _take_the_long_way(self) -> None:
        """Read everything that waits, for the transport to send."""
        waiting = list(self._waiting)
        self.stop()
        data: list[Buffer] = []
        for piece in waiting:
            if not isinstance(piece, UnreadBytes):
                data.append(piece)
                continue
            try:
                data.append(piece.read())
            except BytesChanged as change:
                self._refuse(str(change))
                return
            except OSError as error:
                piece.failed(error)
                self._refuse(f"records cannot be read: {error}")
                return
        self._transport.writelines(data)

    def _refuse(self, reason: str) -> None:
        self.stop()
        self._failed(reason)
