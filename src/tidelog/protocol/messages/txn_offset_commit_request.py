# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TxnOffsetCommitRequestPartition(Message):
    __slots__ = (
        "partition_index",
        "committed_offset",
        "committed_leader_epoch",
        "committed_metadata",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("committed_offset", "int64", (0, LAST)),
            Field("committed_leader_epoch", "int32", (2, LAST)),
            Field("committed_metadata", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        committed_offset: int = 0,
        committed_leader_epoch: int = -1,
        committed_metadata: str | None = '',
    ) -> None:
        self.partition_index: Final = partition_index
        self.committed_offset: Final = committed_offset
        self.committed_leader_epoch: Final = committed_leader_epoch
        self.committed_metadata: Final = committed_metadata


class TxnOffsetCommitRequestTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]TxnOffsetCommitRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitRequestPartition": TxnOffsetCommitRequestPartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[TxnOffsetCommitRequestPartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class TxnOffsetCommitRequest(Message):
    __slots__ = (
        "transactional_id",
        "group_id",
        "producer_id",
        "producer_epoch",
        "generation_id",
        "member_id",
        "group_instance_id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (0, LAST)),
            Field("group_id", "string", (0, LAST)),
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("generation_id", "int32", (3, LAST)),
            Field("member_id", "string", (3, LAST)),
            Field("group_instance_id", "string", (3, LAST), nullable=(3, LAST)),
            Field("topics", "[]TxnOffsetCommitRequestTopic", (0, LAST)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=28
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitRequestTopic": TxnOffsetCommitRequestTopic}

    def __init__(
        self,
        *,
        transactional_id: str = '',
        group_id: str = '',
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id: int = -1,
        member_id: str = '',
        group_instance_id: str | None = None,
        topics: Sequence[TxnOffsetCommitRequestTopic] = (),
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.group_id: Final = group_id
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.generation_id: Final = generation_id
        self.member_id: Final = member_id
        self.group_instance_id: Final = group_instance_id
        self.topics: Final = topics
