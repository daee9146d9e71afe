# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslHandshakeResponse(Message):
    error_code: int = 0
    mechanisms: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("mechanisms", "[]string", (0, LAST)),
        ), valid=(0, 1), flexible=NEVER, api_key=17
    )
    STRUCTS: ClassVar[Structs] = {}
