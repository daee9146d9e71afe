# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribableLogDirTopic(Message):
    topic: str = ''
    partitions: Sequence[int] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partitions", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsRequest(Message):
    topics: Sequence[DescribableLogDirTopic] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topics", "[]DescribableLogDirTopic", (0, LAST), nullable=(0, LAST)),
        ), valid=(1, 5), flexible=(2, LAST), api_key=35
    )
    STRUCTS: ClassVar[Structs] = {"DescribableLogDirTopic": DescribableLogDirTopic}
