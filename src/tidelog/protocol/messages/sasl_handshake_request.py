# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class SaslHandshakeRequest(Message):
    __slots__ = (
        "mechanism",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("mechanism", "string", (0, LAST)),
        ), valid=(0, 1), flexible=NEVER, api_key=17
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        mechanism: str = '',
    ) -> None:
        self.mechanism: Final = mechanism
