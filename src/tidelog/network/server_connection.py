"""One accepted connection: requests come in, replies go out in the order of the requests.

What a request means is not known here: a `RequestService` answers frames. A request is handed over only when the one
before it has been answered, as in Kafka, with one exception: the service may let a request begin while its predecessor
waits (`may_pipeline`), so that a producer can append its next batch while the last one is being replicated. Replies
keep their order in any case.

Every queue is bounded: requests that cannot be handed over yet are kept up to `MAX_QUEUED_BYTES`, then the connection
stops reading; while the peer does not read its replies, no new request is begun. The requests of all connections
together are bounded by the `RequestMemory` that they share.

Two more reasons not to read come from outside: a connection is muted while its client is throttled, and held while it
waits to be let in.

Replies go to the event loop's transport, except those with bytes that are still in a file: see `file_sending`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, cast

from tidelog.config.listeners import SecurityProtocol
from tidelog.model.principal import ANONYMOUS, Principal
from tidelog.model.unread import UnreadBytes
from tidelog.network.file_sending import FileSender, can_send_files
from tidelog.network.frame_receiver import Frame, FrameReceiver, StagingArea
from tidelog.network.later import Later
from tidelog.network.request_memory import RequestMemory
from tidelog.protocol.codec import Buffer, ProtocolError
from tidelog.protocol.frames import Piece

logger = logging.getLogger(__name__)

MAX_QUEUED_BYTES = 8 * 1024 * 1024
MAX_PIPELINED = 32
WRITE_HIGH_WATER_BYTES = 4 * 1024 * 1024

# The pieces of a reply, or None for a request that gets none (Produce with acks=0).
Reply = Sequence[Piece] | None


class RequestService(Protocol):
    """Answers the requests of all connections."""

    def answer(self, frame: Frame, connection: ServerConnection) -> Reply | Later[Reply]:
        """Raise ProtocolError to close the connection with a reason in the log."""
        ...

    def may_pipeline(self, frame: Frame) -> bool: ...

    def frame_limit(self, first_bytes: memoryview) -> int:
        """How large a request may be that begins with these."""
        ...

    def connected(self, connection: ServerConnection) -> bool:
        """False refuses the connection."""
        ...

    def disconnected(self, connection: ServerConnection) -> None: ...


class _Pause(Enum):
    """Why a connection does not read."""

    QUEUE = "too much is queued"
    MEMORY = "a frame waits for memory"
    CROWDED = "all the memory for requests is in use"
    DRAINING = "the connection is about to be closed"
    REFUSED = "the client was refused, and waits for its reply"
    MUTED = "its client is throttled"
    HELD = "it has yet to be let in"


class ServerConnection(asyncio.BufferedProtocol):
    """Lives from accept to close."""

    def __init__(
        self,
        service: RequestService,
        staging: StagingArea,
        memory: RequestMemory,
        listener: str,
        security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT,
    ) -> None:
        self._service = service
        self._memory = memory
        self._staging = staging
        # The name of the listener that accepted it: clients receive addresses of the same one.
        self.listener = listener
        self.principal: Principal = ANONYMOUS
        self.security_protocol = security_protocol
        self._transport: asyncio.Transport | None = None
        self._queued: deque[Frame] = deque()
        self._queued_bytes = 0
        # Less while nobody knows who the client is.
        self._queue_limit = MAX_QUEUED_BYTES
        # Replies in progress, oldest first, with the sizes of their requests; each is done before it is sent.
        self._pending: deque[tuple[Later[Reply], int]] = deque()
        self._pipelining = False
        self._pauses: set[_Pause] = set()
        self._writing_paused = False
        self._closed = False
        self._at_end = False
        self._refused = False
        # While nothing is begun although something may be queued, and when the client is no longer throttled.
        self._is_still = False
        self._muted_until = 0.0
        self._unmuting: asyncio.TimerHandle | None = None
        # Whether a reply may have unread bytes, and what sends such replies, from the first of them on.
        self.sends_files = False
        self._sender: FileSender | None = None
        self.peer_host = ""
        self.peer_port = 0
        self.last_active = 0.0
        self._drained: asyncio.Future[None] | None = None

    # -- the event loop calls these ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's, only like them.
        self._transport = cast(asyncio.Transport, transport)
        # Not before: a connection whose TLS handshake fails is never made, and never lost.
        self._claim = self._memory.claim(self._memory_granted, self._drop)
        self._receiver = FrameReceiver(self._staging, self._service.frame_limit, self._claim)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        self.sends_files = can_send_files(self._transport)
        peer: Any = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.peer_host, self.peer_port = str(peer[0]), int(peer[1])
        self.last_active = asyncio.get_running_loop().time()
        if not self._service.connected(self):
            self._closed = True
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._receiver.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if self._closed:
            return
        self.last_active = asyncio.get_running_loop().time()
        try:
            self._receiver.advance(nbytes, self._frame_arrived)
        except ProtocolError as error:
            self._refuse(error)
            return
        if self._receiver.is_waiting:
            self._pause(_Pause.MEMORY)

    def eof_received(self) -> bool:
        # The transport closes itself when it has sent what it has, so it must not do so while more is to come.
        self._at_end = True
        return self._sender is not None and self._sender.is_busy

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        if self._sender is not None:
            self._sender.stop()
        for pending, _ in self._pending:
            pending.future.cancel()
        self._pending.clear()
        self._queued.clear()
        self._end_muting()
        self._claim.release()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._service.disconnected(self)

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._go_on()

    # -- for the server ------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Or about to be."""
        return self._closed

    @property
    def idle(self) -> bool:
        """Also if its client is throttled: what is queued may have to wait for hours."""
        return not self._pending and (not self._queued or self._is_still)

    def mute(self, milliseconds: float) -> None:
        """Read nothing and begin nothing for so long. Of several times the one that ends last counts."""
        if self._closed or self._drained is not None:
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + milliseconds / 1000
        if until <= self._muted_until:
            return
        self._end_muting()
        self._muted_until = until
        self._unmuting = loop.call_at(until, self._unmute)
        self._is_still = True
        self._pause(_Pause.MUTED)

    def hold(self) -> None:
        """Read nothing and begin nothing until `let_in`. For a connection that has just been made."""
        self._is_still = True
        self._pause(_Pause.HELD)
        # uvloop begins to read after `connection_made` in any case.
        asyncio.get_running_loop().call_soon(self._still_held)

    def let_in(self) -> None:
        self._is_still = False
        self._resume(_Pause.HELD)
        self._go_on()

    def close(self) -> None:
        """Close now, without waiting for replies."""
        self._closed = True
        if self._sender is not None:
            self._sender.stop()
        if self._transport is not None:
            self._transport.abort()

    def expect_authentication(self, queue_bytes: int) -> None:
        """Until `authenticated`, no more than this is queued for the client."""
        self._queue_limit = queue_bytes

    def authenticated(self, principal: Principal) -> None:
        self.principal = principal
        self._queue_limit = MAX_QUEUED_BYTES

    def refuse(self, reason: str) -> None:
        """Read nothing more. Close when the replies that are in progress have been sent: there must be one."""
        logger.info("refusing the client at %s:%d: %s", self.peer_host, self.peer_port, reason)
        self._refused = True
        self._pause(_Pause.REFUSED)
        for frame in self._queued:
            self._claim.give_back(len(frame))
        self._queued.clear()
        self._queued_bytes = 0

    def peer_certificate(self) -> bytes | None:
        """The certificate that the client has proved to be its own, in DER; None without TLS, or without one."""
        encryption: Any = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        certificate: bytes | None = None if encryption is None else encryption.getpeercert(True)
        return certificate

    async def drain_and_close(self, timeout_seconds: float) -> None:
        """Answer the requests received so far, then close. No more requests are read."""
        if self._transport is None or self._transport.is_closing():
            return
        self._pause(_Pause.DRAINING)
        self._drained = asyncio.get_running_loop().create_future()
        if self._unmuting is not None:
            self._unmute()
        self._close_if_done()
        try:
            await asyncio.wait_for(self._drained, timeout_seconds)
        except TimeoutError:
            self.close()

    # -- requests in, replies out --------------------------------------------------------------------------------

    def _frame_arrived(self, frame: Frame) -> None:
        if self._closed:
            return
        if self._refused:
            self._claim.give_back(len(frame))
            return
        if self._queued or not self._may_begin(frame):
            self._queued.append(frame)
            self._queued_bytes += len(frame)
            if self._queued_bytes > self._queue_limit:
                self._pause(_Pause.QUEUE)
            elif self._memory.is_full and _Pause.CROWDED not in self._pauses:
                # One request of each connection is always accepted; more of them when there is room.
                self._pause(_Pause.CROWDED)
            return
        self._begin(frame)

    def _may_begin(self, frame: Frame) -> bool:
        if self._writing_paused or self._is_still or (self._sender is not None and self._sender.is_full):
            return False
        if not self._pending:
            return True
        return self._pipelining and len(self._pending) < MAX_PIPELINED and self._service.may_pipeline(frame)

    def _begin(self, frame: Frame) -> None:
        try:
            reply = self._service.answer(frame, self)
        except ProtocolError as error:
            self._refuse(error)
            return
        except Exception:
            self._give_up()
            return
        if isinstance(reply, Later):
            self._pipelining = self._service.may_pipeline(frame)
            self._pending.append((reply, len(frame)))
            reply.future.add_done_callback(self._reply_done)
        elif self._pending:
            # An earlier request still waits: its reply goes first.
            done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
            done.set_result(reply)
            self._pending.append((Later(done), len(frame)))
        else:
            self._send(reply)
            self._claim.give_back(len(frame))

    def _begin_queued(self) -> None:
        while self._queued and not self._closed and self._may_begin(self._queued[0]):
            frame = self._queued.popleft()
            self._queued_bytes -= len(frame)
            self._begin(frame)
        if self._queued_bytes <= self._queue_limit // 2:
            self._resume(_Pause.QUEUE)
        if not self._queued or not self._memory.is_full:
            self._resume(_Pause.CROWDED)

    def _reply_done(self, _: asyncio.Future[Any]) -> None:
        while self._pending and self._pending[0][0].future.done() and not self._closed:
            pending, size = self._pending.popleft()
            try:
                reply = pending.take()
            except asyncio.CancelledError:
                self.close()
                return
            except ProtocolError as error:
                self._refuse(error)
                return
            except Exception:
                self._give_up()
                return
            self._send(reply)
            self._claim.give_back(size)
        self._go_on()

    def _go_on(self) -> None:
        self._begin_queued()
        if self._at_end or self._drained is not None or self._refused:
            self._close_if_done()

    def _close_if_done(self) -> None:
        """All replies have been sent, or the peer sends no more requests and has got those that were ready."""
        if self._transport is None or (self._sender is not None and self._sender.is_busy):
            return
        if self._at_end or self.idle:
            self._transport.close()

    def _send(self, reply: Reply) -> None:
        if reply is None or self._transport is None or self._closed:
            return
        sender = self._sender
        if sender is not None and sender.is_busy:
            sender.send(reply)
        elif self.sends_files and _has_unread(reply):
            if sender is None:
                sender = self._sender = FileSender(
                    self._transport, high_water=WRITE_HIGH_WATER_BYTES, room=self._go_on, failed=self._refuse
                )
            sender.send(reply)
        else:
            self._transport.writelines(cast(Sequence[Buffer], reply))

    def _refuse(self, reason: ProtocolError | str) -> None:
        logger.warning("closing the connection from %s:%d: %s", self.peer_host, self.peer_port, reason)
        self.close()

    def _give_up(self) -> None:
        logger.exception("a request from %s:%d failed; closing the connection", self.peer_host, self.peer_port)
        self.close()

    # -- reading and not reading ---------------------------------------------------------------------------------

    def _memory_granted(self) -> None:
        self._receiver.go_on()
        self._resume(_Pause.MEMORY)

    def _drop(self, reason: str) -> None:
        if not self._closed:
            self._refuse(reason)
        # At once, not only when the loop gets to it: others wait for this memory.
        self._claim.release()

    def _unmute(self) -> None:
        self._end_muting()
        self._is_still = False
        self._resume(_Pause.MUTED)
        self._go_on()

    def _end_muting(self) -> None:
        self._muted_until = 0.0
        if self._unmuting is not None:
            self._unmuting.cancel()
            self._unmuting = None

    def _still_held(self) -> None:
        if _Pause.HELD in self._pauses and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def _pause(self, reason: _Pause) -> None:
        if not self._pauses and self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
        self._pauses.add(reason)

    def _resume(self, reason: _Pause) -> None:
        if reason not in self._pauses:
            return
        self._pauses.discard(reason)
        if not self._pauses and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


def _has_unread(reply: Sequence[Piece]) -> bool:
    # A loop, because a generator would cost as much as the rest of sending a small reply.
    for piece in reply:  # noqa: SIM110
        if isinstance(piece, UnreadBytes):
            return True
    return False
