# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ReplicaState(Message):
    __slots__ = (
        "replica_id",
        "replica_directory_id",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (0, LAST)),
            Field("replica_directory_id", "uuid", (2, LAST)),
            Field("log_end_offset", "int64", (0, LAST)),
            Field("last_fetch_timestamp", "int64", (1, LAST)),
            Field("last_caught_up_timestamp", "int64", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        replica_id: int = 0,
        replica_directory_id: bytes = b'\0' * 16,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
    ) -> None:
        self.replica_id: Final = replica_id
        self.replica_directory_id: Final = replica_directory_id
        self.log_end_offset: Final = log_end_offset
        self.last_fetch_timestamp: Final = last_fetch_timestamp
        self.last_caught_up_timestamp: Final = last_caught_up_timestamp


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "error_message",
        "leader_id",
        "leader_epoch",
        "high_watermark",
        "current_voters",
        "observers",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (2, LAST), nullable=(2, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("high_watermark", "int64", (0, LAST)),
            Field("current_voters", "[]ReplicaState", (0, LAST)),
            Field("observers", "[]ReplicaState", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReplicaState": ReplicaState}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: Sequence[ReplicaState] = (),
        observers: Sequence[ReplicaState] = (),
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.high_watermark: Final = high_watermark
        self.current_voters: Final = current_voters
        self.observers: Final = observers


class TopicData(Message):
    __slots__ = (
        "topic_name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}

    def __init__(
        self,
        *,
        topic_name: str = '',
        partitions: Sequence[PartitionData] = (),
    ) -> None:
        self.topic_name: Final = topic_name
        self.partitions: Final = partitions


class Listener(Message):
    __slots__ = (
        "name",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (2, LAST)),
            Field("host", "string", (2, LAST)),
            Field("port", "uint16", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        host: str = '',
        port: int = 0,
    ) -> None:
        self.name: Final = name
        self.host: Final = host
        self.port: Final = port


class Node(Message):
    __slots__ = (
        "node_id",
        "listeners",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (2, LAST)),
            Field("listeners", "[]Listener", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener}

    def __init__(
        self,
        *,
        node_id: int = 0,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.node_id: Final = node_id
        self.listeners: Final = listeners


class DescribeQuorumResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "topics",
        "nodes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (2, LAST), nullable=(2, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("nodes", "[]Node", (2, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=55
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "Node": Node}

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = '',
        topics: Sequence[TopicData] = (),
        nodes: Sequence[Node] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.topics: Final = topics
        self.nodes: Final = nodes
