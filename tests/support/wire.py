"""A connection to a node in this process without a socket: what is sent is handled before `send` returns.

So a test decides what happens in which turn of the event loop, which over a socket is a matter of luck.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from tidelog.network.frame_receiver import StagingArea
from tidelog.network.server_connection import ServerConnection
from tidelog.protocol.api import response_class, response_header_version
from tidelog.protocol.codec import decode_whole
from tidelog.protocol.frames import request_frame, skip_tagged_fields
from tidelog.protocol.schema import Message
from tidelog.server.node import Node
from tidelog.server.wiring import broker_router

_NEVER_BLOCKED_BYTES = 1 << 20


class _Socket(asyncio.Transport):
    """Keeps what the broker writes."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000)})
        self.written = bytearray()
        self.closing = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview[Any]]) -> None:
        self.written += b"".join(list_of_data)

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = True


class Wire:
    """Connected from the start to `lose`."""

    def __init__(self, node: Node) -> None:
        listener = node.config.broker_listeners[0].name
        self._connection = ServerConnection(broker_router(node), StagingArea(), node.request_memory, listener)
        self._socket = _Socket()
        self._connection.connection_made(self._socket)
        self._asked: tuple[int, int] = (0, 0)

    def send(self, request: Message, version: int | None = None) -> None:
        api_key = request.SCHEMA.api_key
        version = request.SCHEMA.valid[1] if version is None else version
        self._asked = (api_key, version)
        data = b"".join(request_frame(api_key, version, 1, "wire", request))
        while data:
            buffer = self._connection.get_buffer(-1)
            size = min(len(buffer), len(data), _NEVER_BLOCKED_BYTES)
            buffer[:size] = data[:size]
            self._connection.buffer_updated(size)
            data = data[size:]

    @property
    def answered(self) -> bool:
        return bool(self._socket.written)

    def reply(self) -> Any:
        """To the last request."""
        api_key, version = self._asked
        frame = bytes(self._socket.written[4:])
        self._socket.written.clear()
        position = 4
        if response_header_version(api_key, version) == 1:
            position = skip_tagged_fields(frame, position)
        return decode_whole(response_class(api_key), frame[position:], version)

    def lose(self) -> None:
        """The peer is gone."""
        self._connection.connection_lost(ConnectionResetError())
