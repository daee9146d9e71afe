# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class CreatableReplicaAssignment(Message):
    __slots__ = (
        "partition_index",
        "broker_ids",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("broker_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        broker_ids: Sequence[int] = (),
    ) -> None:
        self.partition_index: Final = partition_index
        self.broker_ids: Final = broker_ids


class CreatableTopicConfig(Message):
    __slots__ = (
        "name",
        "value",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        value: str | None = '',
    ) -> None:
        self.name: Final = name
        self.value: Final = value


class CreatableTopic(Message):
    __slots__ = (
        "name",
        "num_partitions",
        "replication_factor",
        "assignments",
        "configs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("num_partitions", "int32", (0, LAST)),
            Field("replication_factor", "int16", (0, LAST)),
            Field("assignments", "[]CreatableReplicaAssignment", (0, LAST)),
            Field("configs", "[]CreatableTopicConfig", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CreatableReplicaAssignment": CreatableReplicaAssignment, "CreatableTopicConfig": CreatableTopicConfig}

    def __init__(
        self,
        *,
        name: str = '',
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: Sequence[CreatableReplicaAssignment] = (),
        configs: Sequence[CreatableTopicConfig] = (),
    ) -> None:
        self.name: Final = name
        self.num_partitions: Final = num_partitions
        self.replication_factor: Final = replication_factor
        self.assignments: Final = assignments
        self.configs: Final = configs


class CreateTopicsRequest(Message):
    __slots__ = (
        "topics",
        "timeout_ms",
        "validate_only",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]CreatableTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("validate_only", "bool", (1, LAST)),
        ), valid=(2, 7), flexible=(5, LAST), api_key=19
    )
    STRUCTS: ClassVar[Structs] = {"CreatableTopic": CreatableTopic}

    def __init__(
        self,
        *,
        topics: Sequence[CreatableTopic] = (),
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics: Final = topics
        self.timeout_ms: Final = timeout_ms
        self.validate_only: Final = validate_only
