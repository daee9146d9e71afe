# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions(Message):
    topic_id: bytes = b'\0' * 16
    topic_name: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Message):
    topic_partitions: Sequence[TopicPartitions] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartitions", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member(Message):
    member_id: str = ''
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ''
    client_host: str = ''
    subscribed_topic_names: Sequence[str] = ()
    subscribed_topic_regex: str | None = None
    assignment: Assignment = field(default_factory=Assignment)
    target_assignment: Assignment = field(default_factory=Assignment)
    member_type: int = -1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("member_id", "string", (0, LAST)),
            Field("instance_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("rack_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("member_epoch", "int32", (0, LAST)),
            Field("client_id", "string", (0, LAST)),
            Field("client_host", "string", (0, LAST)),
            Field("subscribed_topic_names", "[]string", (0, LAST)),
            Field("subscribed_topic_regex", "string", (0, LAST), nullable=(0, LAST)),
            Field("assignment", "Assignment", (0, LAST)),
            Field("target_assignment", "Assignment", (0, LAST)),
            Field("member_type", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Assignment": Assignment}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup(Message):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ''
    group_state: str = ''
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ''
    members: Sequence[Member] = ()
    authorized_operations: int = -2147483648
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("group_id", "string", (0, LAST)),
            Field("group_state", "string", (0, LAST)),
            Field("group_epoch", "int32", (0, LAST)),
            Field("assignment_epoch", "int32", (0, LAST)),
            Field("assignor_name", "string", (0, LAST)),
            Field("members", "[]Member", (0, LAST)),
            Field("authorized_operations", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Member": Member}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupDescribeResponse(Message):
    throttle_time_ms: int = 0
    groups: Sequence[DescribedGroup] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("groups", "[]DescribedGroup", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=69
    )
    STRUCTS: ClassVar[Structs] = {"DescribedGroup": DescribedGroup}
