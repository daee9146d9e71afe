# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerPartitionResult(Message):
    partition_index: int = 0
    error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerTopicResult(Message):
    name: str = ''
    partitions: Sequence[WritableTxnMarkerPartitionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partitions", "[]WritableTxnMarkerPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerPartitionResult": WritableTxnMarkerPartitionResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerResult(Message):
    producer_id: int = 0
    topics: Sequence[WritableTxnMarkerTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("topics", "[]WritableTxnMarkerTopicResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerTopicResult": WritableTxnMarkerTopicResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersResponse(Message):
    markers: Sequence[WritableTxnMarkerResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("markers", "[]WritableTxnMarkerResult", (0, LAST)),
        ), valid=(1, 2), flexible=(1, LAST), api_key=27
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerResult": WritableTxnMarkerResult}
