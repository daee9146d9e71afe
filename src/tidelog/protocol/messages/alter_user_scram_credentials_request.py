# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredentialDeletion(Message):
    name: str = ''
    mechanism: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("mechanism", "int8", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredentialUpsertion(Message):
    name: str = ''
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b''
    salted_password: bytes = b''
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterUserScramCredentialsRequest(Message):
    deletions: Sequence[ScramCredentialDeletion] = ()
    upsertions: Sequence[ScramCredentialUpsertion] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("deletions", "[]ScramCredentialDeletion", (0, LAST)),
            Field("upsertions", "[]ScramCredentialUpsertion", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=51
    )
    STRUCTS: ClassVar[Structs] = {"ScramCredentialDeletion": ScramCredentialDeletion, "ScramCredentialUpsertion": ScramCredentialUpsertion}
