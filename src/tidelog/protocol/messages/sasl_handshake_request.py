# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslHandshakeRequest(Message):
    mechanism: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("mechanism", "string", (0, LAST)),
        ), valid=(0, 1), flexible=NEVER, api_key=17
    )
    STRUCTS: ClassVar[Structs] = {}
