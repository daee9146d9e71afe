# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeClusterRequest(Message):
    __slots__ = (
        "include_cluster_authorized_operations",
        "endpoint_type",
        "include_fenced_brokers",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("include_cluster_authorized_operations", "bool", (0, LAST)),
            Field("endpoint_type", "int8", (1, LAST)),
            Field("include_fenced_brokers", "bool", (2, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=60
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations: Final = include_cluster_authorized_operations
        self.endpoint_type: Final = endpoint_type
        self.include_fenced_brokers: Final = include_fenced_brokers
