# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class WritableTxnMarkerTopic(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("partition_indexes", "[]int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        partition_indexes: Sequence[int] = (),
    ) -> None:
        self.name: Final = name
        self.partition_indexes: Final = partition_indexes


class WritableTxnMarker(Message):
    __slots__ = (
        "producer_id",
        "producer_epoch",
        "transaction_result",
        "topics",
        "coordinator_epoch",
        "transaction_version",
    )
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

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: Sequence[WritableTxnMarkerTopic] = (),
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        self.producer_id: Final = producer_id
        self.producer_epoch: Final = producer_epoch
        self.transaction_result: Final = transaction_result
        self.topics: Final = topics
        self.coordinator_epoch: Final = coordinator_epoch
        self.transaction_version: Final = transaction_version


class WriteTxnMarkersRequest(Message):
    __slots__ = (
        "markers",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("markers", "[]WritableTxnMarker", (0, LAST)),
        ), valid=(1, 2), flexible=(1, LAST), api_key=27
    )
    STRUCTS: ClassVar[Structs] = {"WritableTxnMarker": WritableTxnMarker}

    def __init__(
        self,
        *,
        markers: Sequence[WritableTxnMarker] = (),
    ) -> None:
        self.markers: Final = markers
