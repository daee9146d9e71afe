# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, NEVER, Schema, Structs


class RequestHeader(Message):
    __slots__ = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("request_api_key", "int16", (0, LAST)),
            Field("request_api_version", "int16", (0, LAST)),
            Field("correlation_id", "int32", (0, LAST)),
            Field("client_id", "string", (1, LAST), nullable=(1, LAST), flexible=NEVER),
        ), valid=(1, 2), flexible=(2, LAST)
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = '',
    ) -> None:
        self.request_api_key: Final = request_api_key
        self.request_api_version: Final = request_api_version
        self.correlation_id: Final = correlation_id
        self.client_id: Final = client_id
