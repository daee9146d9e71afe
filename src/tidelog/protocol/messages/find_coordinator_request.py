# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class FindCoordinatorRequest(Message):
    __slots__ = (
        "key",
        "key_type",
        "coordinator_keys",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("key", "string", (0, 3)),
            Field("key_type", "int8", (1, LAST)),
            Field("coordinator_keys", "[]string", (4, LAST)),
        ), valid=(0, 6), flexible=(3, LAST), api_key=10
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        key: str = '',
        key_type: int = 0,
        coordinator_keys: Sequence[str] = (),
    ) -> None:
        self.key: Final = key
        self.key_type: Final = key_type
        self.coordinator_keys: Final = coordinator_keys
