# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class SaslHandshakeResponse(Message):
    __slots__ = (
        "error_code",
        "mechanisms",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("mechanisms", "[]string", (0, LAST)),
        ), valid=(0, 1), flexible=NEVER, api_key=17
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: Sequence[str] = (),
    ) -> None:
        self.error_code: Final = error_code
        self.mechanisms: Final = mechanisms
