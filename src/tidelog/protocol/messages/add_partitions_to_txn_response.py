# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = (
        "partition_index",
        "partition_error_code",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("partition_error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index: Final = partition_index
        self.partition_error_code: Final = partition_error_code


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = (
        "name",
        "results_by_partition",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("results_by_partition", "[]AddPartitionsToTxnPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnPartitionResult": AddPartitionsToTxnPartitionResult}

    def __init__(
        self,
        *,
        name: str = '',
        results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = (),
    ) -> None:
        self.name: Final = name
        self.results_by_partition: Final = results_by_partition


class AddPartitionsToTxnResult(Message):
    __slots__ = (
        "transactional_id",
        "topic_results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (4, LAST)),
            Field("topic_results", "[]AddPartitionsToTxnTopicResult", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnTopicResult": AddPartitionsToTxnTopicResult}

    def __init__(
        self,
        *,
        transactional_id: str = '',
        topic_results: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.transactional_id: Final = transactional_id
        self.topic_results: Final = topic_results


class AddPartitionsToTxnResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "results_by_transaction",
        "results_by_topic_v3_and_below",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (4, LAST)),
            Field("results_by_transaction", "[]AddPartitionsToTxnResult", (4, LAST)),
            Field("results_by_topic_v3_and_below", "[]AddPartitionsToTxnTopicResult", (0, 3)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=24
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnResult": AddPartitionsToTxnResult, "AddPartitionsToTxnTopicResult": AddPartitionsToTxnTopicResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: Sequence[AddPartitionsToTxnResult] = (),
        results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.results_by_transaction: Final = results_by_transaction
        self.results_by_topic_v3_and_below: Final = results_by_topic_v3_and_below
