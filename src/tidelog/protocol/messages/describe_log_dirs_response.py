# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsPartition(Message):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("partition_size", "int64", (0, LAST)),
            Field("offset_lag", "int64", (0, LAST)),
            Field("is_future_key", "bool", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsTopic(Message):
    name: str = ''
    partitions: Sequence[DescribeLogDirsPartition] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DescribeLogDirsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeLogDirsPartition": DescribeLogDirsPartition}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsResult(Message):
    error_code: int = 0
    log_dir: str = ''
    topics: Sequence[DescribeLogDirsTopic] = ()
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("log_dir", "string", (0, LAST)),
            Field("topics", "[]DescribeLogDirsTopic", (0, LAST)),
            Field("total_bytes", "int64", (4, LAST)),
            Field("usable_bytes", "int64", (4, LAST)),
            Field("is_cordoned", "bool", (5, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeLogDirsTopic": DescribeLogDirsTopic}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    results: Sequence[DescribeLogDirsResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (3, LAST)),
            Field("results", "[]DescribeLogDirsResult", (0, LAST)),
        ), valid=(1, 5), flexible=(2, LAST), api_key=35
    )
    STRUCTS: ClassVar[Structs] = {"DescribeLogDirsResult": DescribeLogDirsResult}
