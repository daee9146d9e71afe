# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Listener(Message):
    __slots__ = (
        "name",
        "host",
        "port",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        host: str = '',
        port: int = 0,
    ) -> None:
        self.name: Final = name
        self.host: Final = host
        self.port: Final = port


class AddRaftVoterRequest(Message):
    __slots__ = (
        "cluster_id",
        "timeout_ms",
        "voter_id",
        "voter_directory_id",
        "listeners",
        "ack_when_committed",
    )
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

    def __init__(
        self,
        *,
        cluster_id: str | None = '',
        timeout_ms: int = 0,
        voter_id: int = 0,
        voter_directory_id: bytes = b'\0' * 16,
        listeners: Sequence[Listener] = (),
        ack_when_committed: bool = True,
    ) -> None:
        self.cluster_id: Final = cluster_id
        self.timeout_ms: Final = timeout_ms
        self.voter_id: Final = voter_id
        self.voter_directory_id: Final = voter_directory_id
        self.listeners: Final = listeners
        self.ack_when_committed: Final = ack_when_committed
