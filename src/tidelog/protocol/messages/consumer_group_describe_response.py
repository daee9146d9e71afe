# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class TopicPartitions(Message):
    __slots__ = (
        "topic_id",
        "topic_name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (0, LAST)),
            Field("topic_name", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        topic_id: bytes = b'\0' * 16,
        topic_name: str = '',
        partitions: Sequence[int] = (),
    ) -> None:
        self.topic_id: Final = topic_id
        self.topic_name: Final = topic_name
        self.partitions: Final = partitions


class Assignment(Message):
    __slots__ = (
        "topic_partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_partitions", "[]TopicPartitions", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"TopicPartitions": TopicPartitions}

    def __init__(
        self,
        *,
        topic_partitions: Sequence[TopicPartitions] = (),
    ) -> None:
        self.topic_partitions: Final = topic_partitions


class Member(Message):
    __slots__ = (
        "member_id",
        "instance_id",
        "rack_id",
        "member_epoch",
        "client_id",
        "client_host",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "assignment",
        "target_assignment",
        "member_type",
    )
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

    def __init__(
        self,
        *,
        member_id: str = '',
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = '',
        client_host: str = '',
        subscribed_topic_names: Sequence[str] = (),
        subscribed_topic_regex: str | None = None,
        assignment: Assignment = Assignment(),
        target_assignment: Assignment = Assignment(),
        member_type: int = -1,
    ) -> None:
        self.member_id: Final = member_id
        self.instance_id: Final = instance_id
        self.rack_id: Final = rack_id
        self.member_epoch: Final = member_epoch
        self.client_id: Final = client_id
        self.client_host: Final = client_host
        self.subscribed_topic_names: Final = subscribed_topic_names
        self.subscribed_topic_regex: Final = subscribed_topic_regex
        self.assignment: Final = assignment
        self.target_assignment: Final = target_assignment
        self.member_type: Final = member_type


class DescribedGroup(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
        "group_state",
        "group_epoch",
        "assignment_epoch",
        "assignor_name",
        "members",
        "authorized_operations",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = '',
        group_state: str = '',
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        assignor_name: str = '',
        members: Sequence[Member] = (),
        authorized_operations: int = -2147483648,
    ) -> None:
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.group_id: Final = group_id
        self.group_state: Final = group_state
        self.group_epoch: Final = group_epoch
        self.assignment_epoch: Final = assignment_epoch
        self.assignor_name: Final = assignor_name
        self.members: Final = members
        self.authorized_operations: Final = authorized_operations


class ConsumerGroupDescribeResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "groups",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("groups", "[]DescribedGroup", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=69
    )
    STRUCTS: ClassVar[Structs] = {"DescribedGroup": DescribedGroup}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: Sequence[DescribedGroup] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.groups: Final = groups
