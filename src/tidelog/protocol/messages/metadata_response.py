# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class MetadataResponseBroker(Message):
    __slots__ = (
        "node_id",
        "host",
        "port",
        "rack",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "int32", (0, LAST)),
            Field("rack", "string", (1, LAST), nullable=(1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = '',
        port: int = 0,
        rack: str | None = None,
    ) -> None:
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port
        self.rack: Final = rack


class MetadataResponsePartition(Message):
    __slots__ = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: Sequence[int] = (),
        isr_nodes: Sequence[int] = (),
        offline_replicas: Sequence[int] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.partition_index: Final = partition_index
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.replica_nodes: Final = replica_nodes
        self.isr_nodes: Final = isr_nodes
        self.offline_replicas: Final = offline_replicas


class MetadataResponseTopic(Message):
    __slots__ = (
        "error_code",
        "name",
        "topic_id",
        "is_internal",
        "partitions",
        "topic_authorized_operations",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = '',
        topic_id: bytes = b'\0' * 16,
        is_internal: bool = False,
        partitions: Sequence[MetadataResponsePartition] = (),
        topic_authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: Final = error_code
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.is_internal: Final = is_internal
        self.partitions: Final = partitions
        self.topic_authorized_operations: Final = topic_authorized_operations


class MetadataResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "brokers",
        "cluster_id",
        "controller_id",
        "topics",
        "cluster_authorized_operations",
        "error_code",
    )
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: Sequence[MetadataResponseBroker] = (),
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: Sequence[MetadataResponseTopic] = (),
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.brokers: Final = brokers
        self.cluster_id: Final = cluster_id
        self.controller_id: Final = controller_id
        self.topics: Final = topics
        self.cluster_authorized_operations: Final = cluster_authorized_operations
        self.error_code: Final = error_code
