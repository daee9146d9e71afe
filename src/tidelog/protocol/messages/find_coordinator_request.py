# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest(Message):
    key: str = ''
    key_type: int = 0
    coordinator_keys: Sequence[str] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (0, 3)),
            Field("key_type", "int8", (1, LAST)),
            Field("coordinator_keys", "[]string", (4, LAST)),
        ), valid=(0, 6), flexible=(3, LAST), api_key=10
    )
    STRUCTS: ClassVar[Structs] = {}
