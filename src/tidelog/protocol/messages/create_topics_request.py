# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableReplicaAssignment(Message):
    partition_index: int = 0
    broker_ids: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("broker_ids", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicConfig(Message):
    name: str = ''
    value: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("value", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopic(Message):
    name: str = ''
    num_partitions: int = 0
    replication_factor: int = 0
    assignments: Sequence[CreatableReplicaAssignment] = ()
    configs: Sequence[CreatableTopicConfig] = ()
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest(Message):
    topics: Sequence[CreatableTopic] = ()
    timeout_ms: int = 60000
    validate_only: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]CreatableTopic", (0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("validate_only", "bool", (1, LAST)),
        ), valid=(2, 7), flexible=(5, LAST), api_key=19
    )
    STRUCTS: ClassVar[Structs] = {"CreatableTopic": CreatableTopic}
