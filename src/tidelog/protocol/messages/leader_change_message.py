# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Voter(Message):
    __slots__ = (
        "voter_id",
        "voter_directory_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        voter_id: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
    ) -> None:
        self.voter_id: Final = voter_id
        self.voter_directory_id: Final = voter_directory_id


class LeaderChangeMessage(Message):
    __slots__ = (
        "version",
        "leader_id",
        "voters",
        "granting_voters",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("leader_id", "int32", (0, LAST)),
            Field("voters", "[]Voter", (0, LAST)),
            Field("granting_voters", "[]Voter", (0, LAST)),
        ), valid=(0, 1), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {"Voter": Voter}

    def __init__(
        self,
        *,
        version: int = 0,
        leader_id: int = 0,
        voters: Sequence[Voter] = (),
        granting_voters: Sequence[Voter] = (),
    ) -> None:
        self.version: Final = version
        self.leader_id: Final = leader_id
        self.voters: Final = voters
        self.granting_voters: Final = granting_voters
