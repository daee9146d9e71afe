# Written by tools/generate_messages.py from Apache Kafka's schemas and message_extensions.json: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class LogSegment(Message):
    __slots__ = (
        "base_offset",
        "next_offset",
        "size_in_bytes",
        "largest_timestamp",
        "state",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("base_offset", "int64", (2, LAST)),
            Field("next_offset", "int64", (2, LAST)),
            Field("size_in_bytes", "int64", (2, LAST)),
            Field("largest_timestamp", "int64", (2, LAST)),
            Field("state", "int8", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        base_offset: int = 0,
        next_offset: int = 0,
        size_in_bytes: int = 0,
        largest_timestamp: int = -1,
        state: int = 0,
    ) -> None:
        self.base_offset: Final = base_offset
        self.next_offset: Final = next_offset
        self.size_in_bytes: Final = size_in_bytes
        self.largest_timestamp: Final = largest_timestamp
        self.state: Final = state


class DescribeLogDirsPartition(Message):
    __slots__ = (
        "partition_index",
        "partition_size",
        "offset_lag",
        "is_future_key",
        "segments",
        "omitted_segments",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("partition_size", "int64", (0, LAST)),
            Field("offset_lag", "int64", (0, LAST)),
            Field("is_future_key", "bool", (0, LAST)),
            Field("segments", "[]LogSegment", (2, LAST), nullable=(2, LAST), tagged=(2, LAST), tag=10000),
            Field("omitted_segments", "int32", (2, LAST), tagged=(2, LAST), tag=10001, default=0),
        )
    )
    STRUCTS: ClassVar[Structs] = {"LogSegment": LogSegment}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        segments: Sequence[LogSegment] | None = None,
        omitted_segments: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.partition_size: Final = partition_size
        self.offset_lag: Final = offset_lag
        self.is_future_key: Final = is_future_key
        self.segments: Final = segments
        self.omitted_segments: Final = omitted_segments


class DescribeLogDirsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]DescribeLogDirsPartition", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"DescribeLogDirsPartition": DescribeLogDirsPartition}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[DescribeLogDirsPartition] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class DescribeLogDirsResult(Message):
    __slots__ = (
        "error_code",
        "log_dir",
        "topics",
        "total_bytes",
        "usable_bytes",
        "is_cordoned",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = '',
        topics: Sequence[DescribeLogDirsTopic] = (),
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
    ) -> None:
        self.error_code: Final = error_code
        self.log_dir: Final = log_dir
        self.topics: Final = topics
        self.total_bytes: Final = total_bytes
        self.usable_bytes: Final = usable_bytes
        self.is_cordoned: Final = is_cordoned


class DescribeLogDirsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (3, LAST)),
            Field("results", "[]DescribeLogDirsResult", (0, LAST)),
        ), valid=(1, 5), flexible=(2, LAST), api_key=35
    )
    STRUCTS: ClassVar[Structs] = {"DescribeLogDirsResult": DescribeLogDirsResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: Sequence[DescribeLogDirsResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.results: Final = results
