# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ScramCredentialDeletion(Message):
    __slots__ = (
        "name",
        "mechanism",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("mechanism", "int8", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        mechanism: int = 0,
    ) -> None:
        self.name: Final = name
        self.mechanism: Final = mechanism


class ScramCredentialUpsertion(Message):
    __slots__ = (
        "name",
        "mechanism",
        "iterations",
        "salt",
        "salted_password",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("mechanism", "int8", (0, LAST)),
            Field("iterations", "int32", (0, LAST)),
            Field("salt", "bytes", (0, LAST)),
            Field("salted_password", "bytes", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b'',
        salted_password: bytes = b'',
    ) -> None:
        self.name: Final = name
        self.mechanism: Final = mechanism
        self.iterations: Final = iterations
        self.salt: Final = salt
        self.salted_password: Final = salted_password


class AlterUserScramCredentialsRequest(Message):
    __slots__ = (
        "deletions",
        "upsertions",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("deletions", "[]ScramCredentialDeletion", (0, LAST)),
            Field("upsertions", "[]ScramCredentialUpsertion", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=51
    )
    STRUCTS: ClassVar[Structs] = {"ScramCredentialDeletion": ScramCredentialDeletion, "ScramCredentialUpsertion": ScramCredentialUpsertion}

    def __init__(
        self,
        *,
        deletions: Sequence[ScramCredentialDeletion] = (),
        upsertions: Sequence[ScramCredentialUpsertion] = (),
    ) -> None:
        self.deletions: Final = deletions
        self.upsertions: Final = upsertions
