# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "voter_directory_id",
        "leader_id",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (1, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.voter_directory_id: Final = voter_directory_id
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch


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


class LeaderEndpoint(Message):
    __slots__ = (
        "name",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (1, LAST)),
            Field("host", "string", (1, LAST)),
            Field("port", "uint16", (1, LAST)),
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


class BeginQuorumEpochRequest(Message):
    __slots__ = (
        "cluster_id",
        "voter_id",
        "topics",
        "leader_endpoints",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (1, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("leader_endpoints", "[]LeaderEndpoint", (1, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=53
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "LeaderEndpoint": LeaderEndpoint}

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: Sequence[TopicData] = (),
        leader_endpoints: Sequence[LeaderEndpoint] = (),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.voter_id: Final = voter_id
        self.topics: Final = topics
        self.leader_endpoints: Final = leader_endpoints
