"""The handshakes of a listener with TLS: from an accepted connection to an encrypted one.

Whoever connects gets memory for a handshake before anybody knows who it is. So the number of handshakes in progress is
bounded, and so is their time. Where there are too many, the oldest is given up: one that makes progress needs some
milliseconds, so those that do not are the oldest. Nobody has to wait for them.

The event loop's own servers do not say how a handshake ends, so connections are accepted here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any

logger = logging.getLogger(__name__)

CurrentContext = Callable[[], ssl.SSLContext]

# One takes about 65 KiB, all of them about 70 MiB. A fleet that reconnects after a restart fits: `port.LISTEN_BACKLOG`.
MAX_HANDSHAKES = 1024
HANDSHAKE_SECONDS = 10.0
# For the farewell of a client that does not answer ours.
SHUTDOWN_SECONDS = 5.0
# Before others have their turn.
ACCEPTED_AT_ONCE = 64
# Without descriptors nothing can be accepted, and the loop would ask again and again.
PAUSE_SECONDS = 1.0


class _Accepted:
    __slots__ = ("begun", "connection", "peer")

    def __init__(self, connection: socket.socket, peer: str) -> None:
        self.connection = connection
        self.peer = peer
        self.begun = False


class EncryptedListening:
    """Accepts connections, and makes protocols for those whose handshake succeeds."""

    def __init__(
        self,
        sockets: Sequence[socket.socket],
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        context: CurrentContext,
        *,
        most: int = MAX_HANDSHAKES,
        timeout_seconds: float = HANDSHAKE_SECONDS,
    ) -> None:
        """The sockets listen, and belong to this object from now on."""
        self._loop = asyncio.get_running_loop()
        self._sockets = list(sockets)
        self._factory = protocol_factory
        self._context = context
        self._most = most
        self._timeout_seconds = timeout_seconds
        # In order of arrival.
        self._in_progress: dict[asyncio.Task[None], _Accepted] = {}
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        address = self._sockets[0].getsockname()
        self.host = str(address[0])
        self.port = int(address[1])
        for listening in self._sockets:
            listening.setblocking(False)
            self._loop.add_reader(listening, self._accept, listening)

    @property
    def handshakes(self) -> int:
        """How many are in progress."""
        return len(self._in_progress)

    def close(self) -> None:
        for pause in self._pauses.values():
            pause.cancel()
        for listening in self._sockets:
            self._loop.remove_reader(listening)
            listening.close()
        self._sockets = []
        for task in list(self._in_progress):
            self._give_up(task)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("no connection can be accepted on port %d: %s", self.port, error)
                self._pause(listening)
                return
            self._begin(accepted, address)

    def _pause(self, listening: socket.socket) -> None:
        self._loop.remove_reader(listening)
        self._pauses[listening] = self._loop.call_later(
            PAUSE_SECONDS, self._loop.add_reader, listening, self._accept, listening
        )

    def _begin(self, connection: socket.socket, address: Any) -> None:
        while len(self._in_progress) >= self._most:
            oldest = next(iter(self._in_progress))
            logger.info(
                "no TLS with the client at %s: there are too many handshakes, and this is the oldest",
                self._in_progress[oldest].peer,
            )
            self._give_up(oldest)
        accepted = _Accepted(connection, f"{address[0]}:{address[1]}")
        task = self._loop.create_task(self._encrypt(accepted))
        self._in_progress[task] = accepted
        task.add_done_callback(lambda done: self._in_progress.pop(done, None))

    def _give_up(self, task: asyncio.Task[None]) -> None:
        accepted = self._in_progress.pop(task)
        task.cancel()
        if not accepted.begun:
            # A task that is cancelled before its first step does nothing at all.
            accepted.connection.close()

    async def _encrypt(self, accepted: _Accepted) -> None:
        """Ends with a connection in the hands of its protocol, or closed."""
        accepted.begun = True
        connection = accepted.connection
        try:
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._factory,
                connection,
                ssl=self._context(),
                ssl_handshake_timeout=self._timeout_seconds,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except (OSError, ssl.CertificateError) as error:
            logger.info("no TLS with the client at %s: %s", accepted.peer, _reason(error))


def own_sockets(bound: Sequence[Any], backlog: int) -> list[socket.socket]:
    """Listening duplicates of the sockets that an event loop's server has bound, which can then be closed."""
    sockets = []
    for each in bound:
        duplicate = socket.socket(each.family, each.type, each.proto, fileno=os.dup(each.fileno()))
        duplicate.listen(backlog)
        sockets.append(duplicate)
    return sockets


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error) or type(error).__name__
