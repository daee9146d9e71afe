"""The handshakes of a listener with TLS: from an accepted connection to an encrypted one.

Whoever connects gets memory for a handshake before anybody knows who it is. So the number of handshakes in progress is
bounded, and so is their time. Where there are too many, the oldest is given up: one that makes progress needs some
milliseconds, so those that do not are the oldest. Nobody has to wait for them.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from typing import Any, cast

logger = logging.getLogger(__name__)

CurrentContext = Callable[[], ssl.SSLContext]

# One takes about 50 KiB. A fleet that reconnects at once after a restart fits: see `port.LISTEN_BACKLOG`.
MAX_HANDSHAKES = 1024
HANDSHAKE_SECONDS = 10.0
# For the farewell of a client that does not answer ours.
SHUTDOWN_SECONDS = 5.0


class Handshakes:
    """Makes the protocols of a listener's connections, once they are encrypted."""

    def __init__(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        context: CurrentContext,
        *,
        most: int = MAX_HANDSHAKES,
        timeout_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        self._factory = protocol_factory
        self._context = context
        self._most = most
        self._timeout_seconds = timeout_seconds
        # In order of arrival.
        self._in_progress: dict[_Accepted, None] = {}

    def __len__(self) -> int:
        return len(self._in_progress)

    def accept(self) -> asyncio.BaseProtocol:
        return _Accepted(self)

    def begin(self, accepted: _Accepted) -> None:
        while len(self._in_progress) >= self._most:
            oldest = next(iter(self._in_progress))
            del self._in_progress[oldest]
            oldest.give_up("there are too many unfinished handshakes, and this is the oldest")
        self._in_progress[accepted] = None

    async def encrypt(self, accepted: _Accepted, transport: asyncio.Transport) -> None:
        """Ends with a connection in the hands of its protocol, or closed."""
        early = _EarlyBytes()
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport,
                early,
                self._context(),
                server_side=True,
                ssl_handshake_timeout=self._timeout_seconds,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except (OSError, ssl.CertificateError) as error:
            accepted.give_up(_reason(error))
            return
        finally:
            self._in_progress.pop(accepted, None)
        if encrypted is None or early.is_lost or encrypted.is_closing():
            transport.abort()
            return
        _hand_over(early, encrypted, self._factory())


class _Accepted(asyncio.Protocol):
    """A connection until its handshake has ended. Nothing is read from it except by the handshake."""

    def __init__(self, handshakes: Handshakes) -> None:
        self._handshakes = handshakes
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._given_up = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.pause_reading()
        self._handshakes.begin(self)
        encrypting = self._handshakes.encrypt(self, self._transport)
        self._task = asyncio.get_running_loop().create_task(encrypting)

    def give_up(self, reason: str) -> None:
        transport = self._transport
        assert transport is not None
        if self._given_up:
            return
        self._given_up = True
        logger.info("no TLS with the client at %s: %s", _peer(transport), reason)
        transport.abort()


class _EarlyBytes(asyncio.BufferedProtocol):
    """Receives what arrives between the end of the handshake and the moment when the protocol is there."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.is_lost = False
        self._buffer = bytearray(0)

    def get_buffer(self, sizehint: int) -> bytearray:
        self._buffer = bytearray(16 * 1024)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += memoryview(self._buffer)[:nbytes]

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True


def _hand_over(early: _EarlyBytes, transport: asyncio.Transport, protocol: asyncio.BaseProtocol) -> None:
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    receiving = cast(asyncio.BufferedProtocol, protocol)
    received = memoryview(early.received)
    while received and not transport.is_closing():
        room: Any = receiving.get_buffer(len(received))
        count = min(len(room), len(received))
        if count == 0:
            # It waits for memory. It has just connected, and can do so again.
            transport.abort()
            return
        room[:count] = received[:count]
        receiving.buffer_updated(count)
        received = received[count:]


def _peer(transport: asyncio.Transport) -> str:
    address: Any = transport.get_extra_info("peername")
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "an unknown address"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return str(error) or type(error).__name__
