# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicConfigs(Message):
    name: str = ''
    value: str | None = ''
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (5, LAST)),
            Field("value", "string", (5, LAST), nullable=(5, LAST)),
            Field("read_only", "bool", (5, LAST)),
            Field("config_source", "int8", (5, LAST)),
            Field("is_sensitive", "bool", (5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatableTopicResult(Message):
    name: str = ''
    topic_id: bytes = b'\0' * 16
    error_code: int = 0
    error_message: str | None = ''
    topic_config_error_code: int = 0
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Sequence[CreatableTopicConfigs] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("topic_id", "uuid", (7, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (1, LAST), nullable=(0, LAST)),
            Field("topic_config_error_code", "int16", (5, LAST), tagged=(5, LAST), tag=0, default=0),
            Field("num_partitions", "int32", (5, LAST)),
            Field("replication_factor", "int16", (5, LAST)),
            Field("configs", "[]CreatableTopicConfigs", (5, LAST), nullable=(5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CreatableTopicConfigs": CreatableTopicConfigs}


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse(Message):
    throttle_time_ms: int = 0
    topics: Sequence[CreatableTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]CreatableTopicResult", (0, LAST)),
        ), valid=(2, 7), flexible=(5, LAST), api_key=19
    )
    STRUCTS: ClassVar[Structs] = {"CreatableTopicResult": CreatableTopicResult}
