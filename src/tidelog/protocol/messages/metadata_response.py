# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponseBroker(Message):
    node_id: int = 0
    host: str = ''
    port: int = 0
    rack: str | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "int32", (0, LAST)),
            Field("rack", "string", (1, LAST), nullable=(1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponsePartition(Message):
    error_code: int = 0
    partition_index: int = 0
    leader_id: int = 0
    leader_epoch: int = -1
    replica_nodes: Sequence[int] = ()
    isr_nodes: Sequence[int] = ()
    offline_replicas: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("partition_index", "int32", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (7, LAST)),
            Field("replica_nodes", "[]int32", (0, LAST)),
            Field("isr_nodes", "[]int32", (0, LAST)),
            Field("offline_replicas", "[]int32", (5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponseTopic(Message):
    error_code: int = 0
    name: str | None = ''
    topic_id: bytes = b'\0' * 16
    is_internal: bool = False
    partitions: Sequence[MetadataResponsePartition] = ()
    topic_authorized_operations: int = -2147483648
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("name", "string", (0, LAST), nullable=(12, LAST)),
            Field("topic_id", "uuid", (10, LAST)),
            Field("is_internal", "bool", (1, LAST)),
            Field("partitions", "[]MetadataResponsePartition", (0, LAST)),
            Field("topic_authorized_operations", "int32", (8, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"MetadataResponsePartition": MetadataResponsePartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse(Message):
    throttle_time_ms: int = 0
    brokers: Sequence[MetadataResponseBroker] = ()
    cluster_id: str | None = None
    controller_id: int = -1
    topics: Sequence[MetadataResponseTopic] = ()
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (3, LAST)),
            Field("brokers", "[]MetadataResponseBroker", (0, LAST)),
            Field("cluster_id", "string", (2, LAST), nullable=(2, LAST)),
            Field("controller_id", "int32", (1, LAST)),
            Field("topics", "[]MetadataResponseTopic", (0, LAST)),
            Field("cluster_authorized_operations", "int32", (8, 10)),
            Field("error_code", "int16", (13, LAST)),
        ), valid=(0, 13), flexible=(9, LAST), api_key=3
    )
    STRUCTS: ClassVar[Structs] = {"MetadataResponseBroker": MetadataResponseBroker, "MetadataResponseTopic": MetadataResponseTopic}
