# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class PartitionResult(Message):
    __slots__ = (
        "partition_id",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_id", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.partition_id: Final = partition_id
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class ReplicaElectionResult(Message):
    __slots__ = (
        "topic",
        "partition_result",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partition_result", "[]PartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionResult": PartitionResult}

    def __init__(
        self,
        *,
        topic: str = '',
        partition_result: Sequence[PartitionResult] = (),
    ) -> None:
        self.topic: Final = topic
        self.partition_result: Final = partition_result


class ElectLeadersResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "replica_election_results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (1, LAST)),
            Field("replica_election_results", "[]ReplicaElectionResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=43
    )
    STRUCTS: ClassVar[Structs] = {"ReplicaElectionResult": ReplicaElectionResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: Sequence[ReplicaElectionResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.replica_election_results: Final = replica_election_results
