# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequestTopic(Message):
    topic_id: bytes = b'\0' * 16
    name: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic_id", "uuid", (10, LAST)),
            Field("name", "string", (0, LAST), nullable=(10, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest(Message):
    topics: Sequence[MetadataRequestTopic] | None = ()
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]MetadataRequestTopic", (0, LAST), nullable=(1, LAST)),
            Field("allow_auto_topic_creation", "bool", (4, LAST)),
            Field("include_cluster_authorized_operations", "bool", (8, 10)),
            Field("include_topic_authorized_operations", "bool", (8, LAST)),
        ), valid=(0, 13), flexible=(9, LAST), api_key=3
    )
    STRUCTS: ClassVar[Structs] = {"MetadataRequestTopic": MetadataRequestTopic}
