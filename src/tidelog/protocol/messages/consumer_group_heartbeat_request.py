# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Message):
    topic_id: bytes = b'\0' * 16
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupHeartbeatRequest(Message):
    group_id: str = ''
    member_id: str = ''
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: Sequence[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: Sequence[TopicPartitions] | None = None
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("group_id", "string", (0, LAST)),
            Field("member_id", "string", (0, LAST)),
            Field("member_epoch", "int32", (0, LAST)),
            Field("instance_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("rack_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("rebalance_timeout_ms", "int32", (0, LAST)),
            Field("subscribed_topic_names", "[]string", (0, LAST), nullable=(0, LAST)),
            Field("subscribed_topic_regex", "string", (1, LAST), nullable=(1, LAST)),
            Field("server_assignor", "string", (0, LAST), nullable=(0, LAST)),
            Field("topic_partitions", "[]TopicPartitions", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=68
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}
