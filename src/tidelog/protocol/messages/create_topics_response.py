# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class CreatableTopicConfigs(Message):
    __slots__ = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
    )
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

    def __init__(
        self,
        *,
        name: str = '',
        value: str | None = '',
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
    ) -> None:
        self.name: Final = name
        self.value: Final = value
        self.read_only: Final = read_only
        self.config_source: Final = config_source
        self.is_sensitive: Final = is_sensitive


class CreatableTopicResult(Message):
    __slots__ = (
        "name",
        "topic_id",
        "error_code",
        "error_message",
        "topic_config_error_code",
        "num_partitions",
        "replication_factor",
        "configs",
    )
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

    def __init__(
        self,
        *,
        name: str = '',
        topic_id: bytes = b'\0' * 16,
        error_code: int = 0,
        error_message: str | None = '',
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Sequence[CreatableTopicConfigs] | None = (),
    ) -> None:
        self.name: Final = name
        self.topic_id: Final = topic_id
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.topic_config_error_code: Final = topic_config_error_code
        self.num_partitions: Final = num_partitions
        self.replication_factor: Final = replication_factor
        self.configs: Final = configs


class CreateTopicsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (2, LAST)),
            Field("topics", "[]CreatableTopicResult", (0, LAST)),
        ), valid=(2, 7), flexible=(5, LAST), api_key=19
    )
    STRUCTS: ClassVar[Structs] = {"CreatableTopicResult": CreatableTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: Sequence[CreatableTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.topics: Final = topics
