# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnPartitionResult(Message):
    partition_index: int = 0
    partition_error_code: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_index", "int32", (0, LAST)),
            Field("partition_error_code", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnTopicResult(Message):
    name: str = ''
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("results_by_partition", "[]AddPartitionsToTxnPartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnPartitionResult": AddPartitionsToTxnPartitionResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnResult(Message):
    transactional_id: str = ''
    topic_results: Sequence[AddPartitionsToTxnTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("transactional_id", "string", (4, LAST)),
            Field("topic_results", "[]AddPartitionsToTxnTopicResult", (4, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnTopicResult": AddPartitionsToTxnTopicResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitionsToTxnResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = ()
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (4, LAST)),
            Field("results_by_transaction", "[]AddPartitionsToTxnResult", (4, LAST)),
            Field("results_by_topic_v3_and_below", "[]AddPartitionsToTxnTopicResult", (0, 3)),
        ), valid=(0, 5), flexible=(3, LAST), api_key=24
    )
    STRUCTS: ClassVar[Structs] = {"AddPartitionsToTxnResult": AddPartitionsToTxnResult, "AddPartitionsToTxnTopicResult": AddPartitionsToTxnTopicResult}
