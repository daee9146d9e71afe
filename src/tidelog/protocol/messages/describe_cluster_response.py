# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeClusterBroker(Message):
    __slots__ = (
        "broker_id",
        "host",
        "port",
        "rack",
        "is_fenced",
    )
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

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host: str = '',
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
    ) -> None:
        self.broker_id: Final = broker_id
        self.host: Final = host
        self.port: Final = port
        self.rack: Final = rack
        self.is_fenced: Final = is_fenced


class DescribeClusterResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "endpoint_type",
        "cluster_id",
        "controller_id",
        "brokers",
        "cluster_authorized_operations",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = '',
        controller_id: int = -1,
        brokers: Sequence[DescribeClusterBroker] = (),
        cluster_authorized_operations: int = -2147483648,
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.endpoint_type: Final = endpoint_type
        self.cluster_id: Final = cluster_id
        self.controller_id: Final = controller_id
        self.brokers: Final = brokers
        self.cluster_authorized_operations: Final = cluster_authorized_operations
