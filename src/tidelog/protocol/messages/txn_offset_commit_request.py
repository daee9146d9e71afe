# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequestPartition(Message):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("committed_offset", "int64", (0, LAST)),
            Field("committed_leader_epoch", "int32", (2, LAST)),
            Field("committed_metadata", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequestTopic(Message):
    name: str = ''
    partitions: Sequence[TxnOffsetCommitRequestPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]TxnOffsetCommitRequestPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TxnOffsetCommitRequestPartition": TxnOffsetCommitRequestPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommitRequest(Message):
    transactional_id: str = ''
    group_id: str = ''
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ''
    group_instance_id: str | None = None
    topics: Sequence[TxnOffsetCommitRequestTopic] = ()
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
