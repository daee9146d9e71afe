# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class RemoveRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "voter_id",
        "voter_directory_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=81
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        cluster_id: str | None = '',
        voter_id: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.voter_id: Final = voter_id
        self.voter_directory_id: Final = voter_directory_id
