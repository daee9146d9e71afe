# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartitions(Message):
    __slots__ = (
        "topic_id",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.partitions: Final = partitions


class ConsumerGroupHeartbeatRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "member_epoch",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )
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

    def __init__(
        self,
        *,
        group_id: str = '',
        member_id: str = '',
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: Sequence[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: Sequence[TopicPartitions] | None = None,
    ) -> None:
        self.group_id: Final = group_id
        self.member_id: Final = member_id
        self.member_epoch: Final = member_epoch
        self.instance_id: Final = instance_id
        self.rack_id: Final = rack_id
        self.rebalance_timeout_ms: Final = rebalance_timeout_ms
        self.subscribed_topic_names: Final = subscribed_topic_names
        self.subscribed_topic_regex: Final = subscribed_topic_regex
        self.server_assignor: Final = server_assignor
        self.topic_partitions: Final = topic_partitions
