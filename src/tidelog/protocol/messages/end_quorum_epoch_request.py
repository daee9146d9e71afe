# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ReplicaInfo(Message):
    __slots__ = (
        "candidate_id",
        "candidate_directory_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("candidate_id", "int32", (1, LAST)),
            Field("candidate_directory_id", "uuid", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        candidate_id: int = 0,
        candidate_directory_id: bytes = b'\0' * 16,
    ) -> None:
        self.candidate_id: Final = candidate_id
        self.candidate_directory_id: Final = candidate_directory_id


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "leader_id",
        "leader_epoch",
        "preferred_successors",
        "preferred_candidates",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("preferred_successors", "[]int32", (0, 0)),
            Field("preferred_candidates", "[]ReplicaInfo", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"ReplicaInfo": ReplicaInfo}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: Sequence[int] = (),
        preferred_candidates: Sequence[ReplicaInfo] = (),
    ) -> None:
        self.partition_index: Final = partition_index
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.preferred_successors: Final = preferred_successors
        self.preferred_candidates: Final = preferred_candidates


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


class EndQuorumEpochRequest(Message):
    __slots__ = (
        "cluster_id",
        "topics",
        "leader_endpoints",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("leader_endpoints", "[]LeaderEndpoint", (1, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=54
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "LeaderEndpoint": LeaderEndpoint}

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        topics: Sequence[TopicData] = (),
        leader_endpoints: Sequence[LeaderEndpoint] = (),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.topics: Final = topics
        self.leader_endpoints: Final = leader_endpoints
