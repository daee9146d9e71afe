# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterBroker(Message):
    broker_id: int = 0
    host: str = ''
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "int32", (0, LAST)),
            Field("rack", "string", (0, LAST), nullable=(0, LAST)),
            Field("is_fenced", "bool", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ''
    controller_id: int = -1
    brokers: Sequence[DescribeClusterBroker] = ()
    cluster_authorized_operations: int = -2147483648
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("endpoint_type", "int8", (1, LAST)),
            Field("cluster_id", "string", (0, LAST)),
            Field("controller_id", "int32", (0, LAST)),
            Field("brokers", "[]DescribeClusterBroker", (0, LAST)),
            Field("cluster_authorized_operations", "int32", (0, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=60
    )
    STRUCTS: ClassVar[Structs] = {"DescribeClusterBroker": DescribeClusterBroker}
