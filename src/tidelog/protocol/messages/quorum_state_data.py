# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Voter(Message):
    __slots__ = (
        "voter_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, 0)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        voter_id: int = 0,
    ) -> None:
        self.voter_id: Final = voter_id


class QuorumStateData(Message):
    __slots__ = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )
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

    def __init__(
        self,
        *,
        cluster_id: str = '',
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: bytes = b'\0' * 16,
        applied_offset: int = 0,
        current_voters: Sequence[Voter] | None = (),
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.leader_id: Final = leader_id
        self.leader_epoch: Final = leader_epoch
        self.voted_id: Final = voted_id
        self.voted_directory_id: Final = voted_directory_id
        self.applied_offset: Final = applied_offset
        self.current_voters: Final = current_voters
