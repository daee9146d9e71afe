# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class EnvelopeRequest(Message):
    __slots__ = (
        "request_data",
        "request_principal",
        "client_host_address",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("request_data", "bytes", (0, LAST)),
            Field("request_principal", "bytes", (0, LAST), nullable=(0, LAST)),
            Field("client_host_address", "bytes", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=58
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        request_data: bytes = b'',
        request_principal: bytes | None = b'',
        client_host_address: bytes = b'',
    ) -> None:
        self.request_data: Final = request_data
        self.request_principal: Final = request_principal
        self.client_host_address: Final = client_host_address
