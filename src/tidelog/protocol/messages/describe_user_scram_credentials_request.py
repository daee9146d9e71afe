# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class UserName(Message):
    __slots__ = (
        "name",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
    ) -> None:
        self.name: Final = name


class DescribeUserScramCredentialsRequest(Message):
    __slots__ = (
        "users",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("users", "[]UserName", (0, LAST), nullable=(0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=50
    )
    STRUCTS: ClassVar[Structs] = {"UserName": UserName}

    def __init__(
        self,
        *,
        users: Sequence[UserName] | None = (),
    ) -> None:
        self.users: Final = users
