# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRequest(Message):
    request_data: bytes = b''
    request_principal: bytes | None = b''
    client_host_address: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("request_data", "bytes", (0, LAST)),
            Field("request_principal", "bytes", (0, LAST), nullable=(0, LAST)),
            Field("client_host_address", "bytes", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=58
    )
    STRUCTS: ClassVar[Structs] = {}
