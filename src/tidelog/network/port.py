"""The port for accepting and opening connections, and its real implementation on the running event loop.

What is sent over a connection is in `server_connection` and `client_connection`. A simulation has a `Network` of its
own; nothing else in tidelog opens a socket.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from tidelog.network.handshakes import CurrentContext, EncryptedListening, own_sockets

AnyProtocol = TypeVar("AnyProtocol", bound=asyncio.BaseProtocol)

# Enough for a fleet that reconnects at once after a restart; the kernel caps it at net.core.somaxconn.
LISTEN_BACKLOG = 1024
# Of buffers: as large as the system makes them.
SYSTEM_SIZED = -1


class Listening(Protocol):
    """An open listener."""

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int:
        """The port in use, also where 0 was asked for."""
        ...

    def close(self) -> None:
        """Accept nothing more. Connections that exist stay open."""
        ...


class Network(Protocol):
    """Where a process listens and connects."""

    async def listen(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        send_buffer_bytes: int = SYSTEM_SIZED,
        tls: CurrentContext | None = None,
    ) -> Listening:
        """`send_buffer_bytes` is how much of what an accepted connection sends may be on its way in the system. With
        `tls`, a protocol is made for a connection whose handshake has succeeded.
        """
        ...

    async def connect(
        self,
        protocol_factory: Callable[[], AnyProtocol],
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> tuple[asyncio.Transport, AnyProtocol]:
        """With `tls`, the server's certificate must be for `server_hostname`, unless the context does not check that.

        Raises OSError if nobody answers there; ssl.SSLError is one.
        """
        ...

    async def address_of(self, host: str) -> str | None:
        """The IP address that a host name stands for, the first if there are several; None if there is none."""
        ...

    async def refuses(self, host: str, port: int, timeout_seconds: float) -> bool:
        """Whether a host that answers says that no process listens on the port, at each address that it has.

        A host that says nothing, or that cannot be found or reached, does not say that.
        """
        ...


class AsyncioNetwork:
    """TCP on the running event loop."""

    async def listen(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        send_buffer_bytes: int = SYSTEM_SIZED,
        tls: CurrentContext | None = None,
    ) -> Listening:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            protocol_factory, host or None, port, backlog=LISTEN_BACKLOG, start_serving=False
        )
        if send_buffer_bytes > 0:
            for listening in server.sockets:
                # Accepted connections inherit it.
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer_bytes)
        if tls is not None:
            sockets = own_sockets(server.sockets, LISTEN_BACKLOG)
            server.close()
            return EncryptedListening(sockets, protocol_factory, tls)
        await server.start_serving()
        return _AsyncioListening(server)

    async def connect(
        self,
        protocol_factory: Callable[[], AnyProtocol],
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        server_hostname: str | None = None,
    ) -> tuple[asyncio.Transport, AnyProtocol]:
        transport, protocol = await asyncio.get_running_loop().create_connection(
            protocol_factory, host, port, ssl=tls, server_hostname=server_hostname if tls is not None else None
        )
        raw_socket = transport.get_extra_info("socket")
        if raw_socket is not None:
            # asyncio sets it too, but not every loop does: a request must not wait for the one before it.
            raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return transport, protocol

    async def address_of(self, host: str) -> str | None:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return None
        return str(found[0][4][0])

    async def refuses(self, host: str, port: int, timeout_seconds: float) -> bool:
        try:
            async with asyncio.timeout(timeout_seconds):
                addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
                answers = [await _refuses(family, address) for family, _, _, _, address in addresses]
        except OSError:
            return False
        definite = [answer for answer in answers if answer is not None]
        return bool(definite) and all(definite)


async def _refuses(family: int, address: tuple[Any, ...]) -> bool | None:
    """None where this machine has no such addresses: "localhost" is ::1 as well, whether there is IPv6 or not."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            await asyncio.get_running_loop().sock_connect(probe, address)
    except ConnectionRefusedError:
        return True
    except OSError as error:
        if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            return None
        raise
    return False


class _AsyncioListening:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        sockets: Sequence[socket.socket] = server.sockets
        address = sockets[0].getsockname()
        self.host = str(address[0])
        self.port = int(address[1])

    def close(self) -> None:
        self._server.close()
