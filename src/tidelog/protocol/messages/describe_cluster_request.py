# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("include_cluster_authorized_operations", "bool", (0, LAST)),
            Field("endpoint_type", "int8", (1, LAST)),
            Field("include_fenced_brokers", "bool", (2, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=60
    )
    STRUCTS: ClassVar[Structs] = {}
