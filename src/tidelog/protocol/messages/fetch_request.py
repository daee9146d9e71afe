# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState(Message):
    replica_id: int = -1
    replica_epoch: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (15, LAST)),
            Field("replica_epoch", "int64", (15, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchPartition(Message):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = b'\0' * 16
    high_watermark: int = 9223372036854775807
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition", "int32", (0, LAST)),
            Field("current_leader_epoch", "int32", (9, LAST)),
            Field("fetch_offset", "int64", (0, LAST)),
            Field("last_fetched_epoch", "int32", (12, LAST)),
            Field("log_start_offset", "int64", (5, LAST)),
            Field("partition_max_bytes", "int32", (0, LAST)),
            Field("replica_directory_id", "uuid", (17, LAST), tagged=(17, LAST), tag=0, default=b'\0' * 16),
            Field("high_watermark", "int64", (18, LAST), tagged=(18, LAST), tag=1, default=9223372036854775807),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTopic(Message):
    topic: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[FetchPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]FetchPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"FetchPartition": FetchPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenTopic(Message):
    topic: str = ''
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (7, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]int32", (7, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest(Message):
    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState = field(default_factory=ReplicaState)
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: Sequence[FetchTopic] = ()
    forgotten_topics_data: Sequence[ForgottenTopic] = ()
    rack_id: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (12, LAST), nullable=(12, LAST), tagged=(12, LAST), tag=0),
            Field("replica_id", "int32", (0, 14)),
            Field("replica_state", "ReplicaState", (15, LAST), tagged=(15, LAST), tag=1),
            Field("max_wait_ms", "int32", (0, LAST)),
            Field("min_bytes", "int32", (0, LAST)),
            Field("max_bytes", "int32", (3, LAST)),
            Field("isolation_level", "int8", (4, LAST)),
            Field("session_id", "int32", (7, LAST)),
            Field("session_epoch", "int32", (7, LAST)),
            Field("topics", "[]FetchTopic", (0, LAST)),
            Field("forgotten_topics_data", "[]ForgottenTopic", (7, LAST)),
            Field("rack_id", "string", (11, LAST)),
        ), valid=(4, 18), flexible=(12, LAST), api_key=1
    )
    STRUCTS: ClassVar[Structs] = {"ReplicaState": ReplicaState, "FetchTopic": FetchTopic, "ForgottenTopic": ForgottenTopic}
