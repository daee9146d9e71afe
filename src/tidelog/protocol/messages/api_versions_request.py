# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(Message):
    client_software_name: str = ''
    client_software_version: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("client_software_name", "string", (3, LAST)),
            Field("client_software_version", "string", (3, LAST)),
        ), valid=(0, 4), flexible=(3, LAST), api_key=18
    )
    STRUCTS: ClassVar[Structs] = {}
