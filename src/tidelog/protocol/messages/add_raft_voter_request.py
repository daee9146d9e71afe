# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRaftVoterRequest(Message):
    cluster_id: str | None = ''
    timeout_ms: int = 0
    voter_id: int = 0
    voter_directory_id: bytes = b'\0' * 16
    listeners: Sequence[Listener] = ()
    ack_when_committed: bool = True
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("cluster_id", "string", (0, LAST), nullable=(0, LAST)),
            Field("timeout_ms", "int32", (0, LAST)),
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
            Field("listeners", "[]Listener", (0, LAST)),
            Field("ack_when_committed", "bool", (1, LAST)),
        ), valid=(0, 1), flexible=(0, LAST), api_key=80
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener}
