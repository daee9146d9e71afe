# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest(Message):
    name: str = ''
    partition_indexes: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partition_indexes", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeProducersRequest(Message):
    topics: Sequence[TopicRequest] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]TopicRequest", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=61
    )
    STRUCTS: ClassVar[Structs] = {"TopicRequest": TopicRequest}
