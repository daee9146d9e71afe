# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionData(Message):
    partition_index: int = 0
    voter_directory_id: bytes = b'\0' * 16
    leader_id: int = 0
    leader_epoch: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (1, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


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
class LeaderEndpoint(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (1, LAST)),
            Field("host", "string", (1, LAST)),
            Field("port", "uint16", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest(Message):
    cluster_id: str | None = None
    voter_id: int = -1
    topics: Sequence[TopicData] = ()
    leader_endpoints: Sequence[LeaderEndpoint] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (1, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("leader_endpoints", "[]LeaderEndpoint", (1, LAST)),
        ), valid=(0, 1), flexible=(1, LAST), api_key=53
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "LeaderEndpoint": LeaderEndpoint}
