# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionData(Message):
    __slots__ = (
        "partition_index",
        "error_code",
        "leader_id",
        "leader_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code
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


class NodeEndpoint(Message):
    __slots__ = (
        "node_id",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("node_id", "int32", (1, LAST)),
            Field("host", "string", (1, LAST)),
            Field("port", "uint16", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = '',
        port: int = 0,
    ) -> None:
        self.node_id: Final = node_id
        self.host: Final = host
        self.port: Final = port


class BeginQuorumEpochResponse(Message):
    __slots__ = (
        "error_code",
        "topics",
        "node_endpoints",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("topics", "[]TopicData", (0, LAST)),
            Field("node_endpoints", "[]NodeEndpoint", (1, LAST), tagged=(1, LAST), tag=0, default=()),
        ), valid=(0, 1), flexible=(1, LAST), api_key=53
    )
    STRUCTS: ClassVar[Structs] = {"TopicData": TopicData, "NodeEndpoint": NodeEndpoint}

    def __init__(
        self,
        *,
        error_code: int = 0,
        topics: Sequence[TopicData] = (),
        node_endpoints: Sequence[NodeEndpoint] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.topics: Final = topics
        self.node_endpoints: Final = node_endpoints
