# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Coordinator(Message):
    __slots__ = (
        "key",
        "node_id",
        "host",
        "port",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (4, LAST)),
            Field("node_id", "int32", (4, LAST)),
            Field("host", "string", (4, LAST)),
            Field("port", "int32", (4, LAST)),
            Field("error_code", "int16", (4, LAST)),
            Field("error_message", "string", (4, LAST), nullable=(4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        key: str = '',
        node_id: int = 0,
        host: str = '',
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.key: Final = key
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class FindCoordinatorResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "node_id",
        "host",
        "port",
        "coordinators",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("error_code", "int16", (0, 3)),
            Field("error_message", "string", (1, 3), nullable=(1, 3)),
            Field("node_id", "int32", (0, 3)),
            Field("host", "string", (0, 3)),
            Field("port", "int32", (0, 3)),
            Field("coordinators", "[]Coordinator", (4, LAST)),
        ), valid=(0, 6), flexible=(3, LAST), api_key=10
    )
    STRUCTS: ClassVar[Structs] = {"Coordinator": Coordinator}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        node_id: int = 0,
        host: str = '',
        port: int = 0,
        coordinators: Sequence[Coordinator] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port
        self.coordinators: Final = coordinators
