# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState(Message):
    replica_id: int = 0
    replica_directory_id: bytes = b'\0' * 16
    log_end_offset: int = 0
    last_fetch_timestamp: int = -1
    last_caught_up_timestamp: int = -1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ''
    leader_id: int = 0
    leader_epoch: int = 0
    high_watermark: int = 0
    current_voters: Sequence[ReplicaState] = ()
    observers: Sequence[ReplicaState] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicData(Message):
    topic_name: str = ''
    partitions: Sequence[PartitionData] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]PartitionData", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionData": PartitionData}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (2, LAST)),
            Field("host", "string", (2, LAST)),
            Field("port", "uint16", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Message):
    node_id: int = 0
    listeners: Sequence[Listener] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (2, LAST)),
            Field("listeners", "[]Listener", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumResponse(Message):
    error_code: int = 0
    error_message: str | None = ''
    topics: Sequence[TopicData] = ()
    nodes: Sequence[Node] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (2, LAST), nullable=(2, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("nodes", "[]Node", (2, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=55
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "Node": Node}
