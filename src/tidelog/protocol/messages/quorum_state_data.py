# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter(Message):
    voter_id: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, 0)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumStateData(Message):
    cluster_id: str = ''
    leader_id: int = -1
    leader_epoch: int = -1
    voted_id: int = -1
    voted_directory_id: bytes = b'\0' * 16
    applied_offset: int = 0
    current_voters: Sequence[Voter] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, 0)),
            Field("leader_id", "int32", (0, LAST)),
            Field("leader_epoch", "int32", (0, LAST)),
            Field("voted_id", "int32", (0, LAST)),
            Field("voted_directory_id", "uuid", (1, LAST)),
            Field("applied_offset", "int64", (0, 0)),
            Field("current_voters", "[]Voter", (0, 0), nullable=(0, 0)),
        ), valid=(0, 1), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {"Voter": Voter}
