# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class UserName(Message):
    name: str = ''
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeUserScramCredentialsRequest(Message):
    users: Sequence[UserName] | None = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("users", "[]UserName", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=50
    )
    STRUCTS: ClassVar[Structs] = {"UserName": UserName}
