# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslAuthenticateRequest(Message):
    auth_bytes: bytes = b''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("auth_bytes", "bytes", (0, LAST)),
        ), valid=(0, 2), flexible=(2, LAST), api_key=36
    )
    STRUCTS: ClassVar[Structs] = {}
