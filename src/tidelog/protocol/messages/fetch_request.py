# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ReplicaState(Message):
    __slots__ = (
        "replica_id",
        "replica_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("replica_id", "int32", (15, LAST)),
            Field("replica_epoch", "int64", (15, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
    ) -> None:
        self.replica_id: Final = replica_id
        self.replica_epoch: Final = replica_epoch


class FetchPartition(Message):
    __slots__ = (
        "partition",
        "current_leader_epoch",
        "fetch_offset",
        "last_fetched_epoch",
        "log_start_offset",
        "partition_max_bytes",
        "replica_directory_id",
        "high_watermark",
    )
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

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = b'\0' * 16,
        high_watermark: int = 9223372036854775807,
    ) -> None:
        self.partition: Final = partition
        self.current_leader_epoch: Final = current_leader_epoch
        self.fetch_offset: Final = fetch_offset
        self.last_fetched_epoch: Final = last_fetched_epoch
        self.log_start_offset: Final = log_start_offset
        self.partition_max_bytes: Final = partition_max_bytes
        self.replica_directory_id: Final = replica_directory_id
        self.high_watermark: Final = high_watermark


class FetchTopic(Message):
    __slots__ = (
        "topic",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]FetchPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"FetchPartition": FetchPartition}

    def __init__(
        self,
        *,
        topic: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[FetchPartition] = (),
    ) -> None:
        self.topic: Final = topic
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class ForgottenTopic(Message):
    __slots__ = (
        "topic",
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (7, 12)),
            Field("topic_id", "uuid", (13, LAST)),
            Field("partitions", "[]int32", (7, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic: str = '',
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic: Final = topic
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class FetchRequest(Message):
    __slots__ = (
        "cluster_id",
        "replica_id",
        "replica_state",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten_topics_data",
        "rack_id",
    )
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

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState = ReplicaState(),
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: Sequence[FetchTopic] = (),
        forgotten_topics_data: Sequence[ForgottenTopic] = (),
        rack_id: str = '',
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.replica_id: Final = replica_id
        self.replica_state: Final = replica_state
        self.max_wait_ms: Final = max_wait_ms
        self.min_bytes: Final = min_bytes
        self.max_bytes: Final = max_bytes
        self.isolation_level: Final = isolation_level
        self.session_id: Final = session_id
        self.session_epoch: Final = session_epoch
        self.topics: Final = topics
        self.forgotten_topics_data: Final = forgotten_topics_data
        self.rack_id: Final = rack_id
