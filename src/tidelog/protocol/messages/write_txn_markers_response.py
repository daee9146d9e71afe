# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class WritableTxnMarkerPartitionResult(Message):
    __slots__ = (
        "partition_index",
        "error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.error_code: Final = error_code


class WritableTxnMarkerTopicResult(Message):
    __slots__ = (
        "name",
        "partitions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]WritableTxnMarkerPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerPartitionResult": WritableTxnMarkerPartitionResult}

    def __init__(
        self,
        *,
        name: str = '',
        partitions: Sequence[WritableTxnMarkerPartitionResult] = (),
    ) -> None:
        self.name: Final = name
        self.partitions: Final = partitions


class WritableTxnMarkerResult(Message):
    __slots__ = (
        "producer_id",
        "topics",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("topics", "[]WritableTxnMarkerTopicResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerTopicResult": WritableTxnMarkerTopicResult}

    def __init__(
        self,
        *,
        producer_id: int = 0,
        topics: Sequence[WritableTxnMarkerTopicResult] = (),
    ) -> None:
        self.producer_id: Final = producer_id
        self.topics: Final = topics


class WriteTxnMarkersResponse(Message):
    __slots__ = (
        "markers",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("markers", "[]WritableTxnMarkerResult", (0, LAST)),
        ), valid=(1, 2), flexible=(1, LAST), api_key=27
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerResult": WritableTxnMarkerResult}

    def __init__(
        self,
        *,
        markers: Sequence[WritableTxnMarkerResult] = (),
    ) -> None:
        self.markers: Final = markers
