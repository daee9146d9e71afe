# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveRaftVoterRequest(Message):
    cluster_id: str | None = ''
    voter_id: int = 0
    voter_directory_id: bytes = b'\0' * 16
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=81
    )
    STRUCTS: ClassVar[Structs] = {}
