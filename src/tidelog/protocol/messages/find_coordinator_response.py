# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator(Message):
    key: str = ''
    node_id: int = 0
    host: str = ''
    port: int = 0
    error_code: int = 0
    error_message: str | None = ''
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ''
    node_id: int = 0
    host: str = ''
    port: int = 0
    coordinators: Sequence[Coordinator] = ()
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
