# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableTxnMarkerTopic(Message):
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
class WritableTxnMarker(Message):
    producer_id: int = 0
    producer_epoch: int = 0
    transaction_result: bool = False
    topics: Sequence[WritableTxnMarkerTopic] = ()
    coordinator_epoch: int = 0
    transaction_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("producer_id", "int64", (0, LAST)),
            Field("producer_epoch", "int16", (0, LAST)),
            Field("transaction_result", "bool", (0, LAST)),
            Field("topics", "[]WritableTxnMarkerTopic", (0, LAST)),
            Field("coordinator_epoch", "int32", (0, LAST)),
            Field("transaction_version", "int8", (2, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarkerTopic": WritableTxnMarkerTopic}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTxnMarkersRequest(Message):
    markers: Sequence[WritableTxnMarker] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("markers", "[]WritableTxnMarker", (0, LAST)),
        ), valid=(1, 2), flexible=(1, LAST), api_key=27
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarker": WritableTxnMarker}
