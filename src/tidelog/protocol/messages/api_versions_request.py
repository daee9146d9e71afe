# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ApiVersionsRequest(Message):
    __slots__ = (
        "client_software_name",
        "client_software_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("client_software_name", "string", (3, LAST)),
            Field("client_software_version", "string", (3, LAST)),
        ), valid=(0, 4), flexible=(3, LAST), api_key=18
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        client_software_name: str = '',
        client_software_version: str = '',
    ) -> None:
        self.client_software_name: Final = client_software_name
        self.client_software_version: Final = client_software_version
