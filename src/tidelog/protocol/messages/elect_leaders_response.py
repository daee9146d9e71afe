# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult(Message):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("partition_id", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaElectionResult(Message):
    topic: str = ''
    partition_result: Sequence[PartitionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("topic", "string", (0, LAST)),
            Field("partition_result", "[]PartitionResult", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"PartitionResult": PartitionResult}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: Sequence[ReplicaElectionResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (1, LAST)),
            Field("replica_election_results", "[]ReplicaElectionResult", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=43
    )
    STRUCTS: ClassVar[Structs] = {"ReplicaElectionResult": ReplicaElectionResult}
