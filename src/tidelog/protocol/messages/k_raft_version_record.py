# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class KRaftVersionRecord(Message):
    __slots__ = (
        "version",
        "k_raft_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("k_raft_version", "int16", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        version: int = 0,
        k_raft_version: int = 0,
    ) -> None:
        self.version: Final = version
        self.k_raft_version: Final = k_raft_version
