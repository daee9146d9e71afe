# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter(Message):
    voter_id: int = 0
    voter_directory_id: bytes = b'\0' * 16
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChangeMessage(Message):
    version: int = 0
    leader_id: int = 0
    voters: Sequence[Voter] = ()
    granting_voters: Sequence[Voter] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("voters", "[]Voter", (0, LAST)),
            Field("granting_voters", "[]Voter", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {"Voter": Voter}
