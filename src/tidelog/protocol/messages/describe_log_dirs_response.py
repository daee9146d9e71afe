# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class DescribeLogDirsPartition(Message):
    __slots__ = (
        "partition_index",
        "partition_size",
        "offset_lag",
        "is_future_key",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("partition_size", "int64", (0, LAST)),
            Field("offset_lag", "int64", (0, LAST)),
            Field("is_future_key", "bool", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
    ) -> None:
        self.partition_index: Final = partition_index
        self.partition_size: Final = partition_size
        self.offset_lag: Final = offset_lag
        self.is_future_key: Final = is_future_key


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
