"""Connections of browsers: how many there may be, and how long they may keep the console waiting.

Before anybody has shown a token, a connection costs a descriptor and some memory, so all of this holds for strangers:

- Connections above the bound, and above that of one address, are closed at once. So nobody uses up all of them alone.
- A request head has to be whole within some seconds after the connection has begun, or after the last reply, however
  slowly its bytes come. uvicorn has such a time only after a reply, and the next byte ends it.
- The body of a request has to go on coming. If the reply is there first, the body has as much time as a head.
- A peer that takes nothing of what is sent to it for some time is cut off, also during live data or a download.
"""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address, ip_address

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tidelog.model.lazy_dataclasses import dataclass

# Who has one IPv6 address usually has all of its network.
_NETWORK_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionBounds:
    # Tabs of browsers keep some open each, and a proxy in front has those of all users.
    connections: int = 500
    connections_of_one_peer: int = 250
    # For a request head, and between two parts of a body.
    request_seconds: float = 12.0
    # In which a peer takes nothing of what is sent to it. A page that was suspended connects again.
    stalled_seconds: float = 60.0


def bounded_connections(bounds: ConnectionBounds) -> type[H11Protocol]:
    """The protocol for uvicorn, which makes one object for each connection."""

    class Bounded(_BoundedConnection):
        pass

    Bounded.bounds = bounds
    return Bounded


def peer_of(host: str) -> str:
    """Whom an address is counted for."""
    try:
        found = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(IPv6Address(int(found) >> _NETWORK_BITS << _NETWORK_BITS))
    return str(found)


class _BoundedConnection(H11Protocol):
    bounds: ConnectionBounds
    peer = ""
    # Neither counted nor read.
    _surplus = False
    _request_timer: asyncio.TimerHandle | None = None
    _reading_timer: asyncio.TimerHandle | None = None
    _unsent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        name = transport.get_extra_info("peername")
        self.peer = peer_of(str(name[0])) if isinstance(name, tuple) else ""
        others = sum(isinstance(each, _BoundedConnection) and each.peer == self.peer for each in self.connections)
        if len(self.connections) >= self.bounds.connections or others >= self.bounds.connections_of_one_peer:
            self._surplus = True
            transport.abort()
            return
        super().connection_made(transport)
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._request_timer, self._reading_timer):
            if timer is not None:
                timer.cancel()
        if not self._surplus:
            super().connection_lost(exc)

    # -- what the peer sends -----------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if not self._surplus:
            super().data_received(data)
            self._expect_request()

    def eof_received(self) -> None:
        if not self._surplus:
            super().eof_received()
            self._expect_reading()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_request()
        self._expect_reading()

    def _expect_request(self) -> None:
        """The time for a head is not extended by a part of it; that for a body is, while a reply waits for it."""
        is_head, is_body = self.conn.their_state is h11.IDLE, self.conn.their_state is h11.SEND_BODY
        if self._request_timer is not None and (not (is_head or is_body) or (is_body and self._is_replying)):
            self._request_timer.cancel()
            self._request_timer = None
        if self._request_timer is None and (is_head or is_body) and not self.transport.is_closing():
            self._request_timer = self.loop.call_later(self.bounds.request_seconds, self._request_is_late)

    def _request_is_late(self) -> None:
        self._request_timer = None
        if self.flow.read_paused:
            # It is us who do not read.
            self._expect_request()
            return
        self.transport.close()
        self._expect_reading()

    # -- what the peer takes -----------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        if not self._surplus:
            super().pause_writing()
            self._expect_reading()

    def resume_writing(self) -> None:
        if not self._surplus:
            super().resume_writing()
            self._expect_reading()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._expect_reading()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._expect_reading()

    def _expect_reading(self) -> None:
        """From now on. A transport that is closed stays until it has sent everything, which may be never."""
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
        self._unsent = self.transport.get_write_buffer_size()
        if self._unsent:
            self._reading_timer = self.loop.call_later(self.bounds.stalled_seconds, self._nothing_was_taken)

    def _nothing_was_taken(self) -> None:
        """Unless there is less than before, or a reply goes on and adds to it."""
        waits = self.flow.write_paused or self.transport.is_closing() or not self._is_replying
        if waits and self.transport.get_write_buffer_size() >= self._unsent:
            self.transport.abort()
        else:
            self._expect_reading()

    @property
    def _is_replying(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete
