# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialInfo(Message):
    mechanism: int = 0
    iterations: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("mechanism", "int8", (0, LAST)),
            Field("iterations", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeUserScramCredentialsResult(Message):
    user: str = ''
    error_code: int = 0
    error_message: str | None = ''
    credential_infos: Sequence[CredentialInfo] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("user", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("credential_infos", "[]CredentialInfo", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CredentialInfo": CredentialInfo}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeUserScramCredentialsResponse(Message):
    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ''
    results: Sequence[DescribeUserScramCredentialsResult] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("results", "[]DescribeUserScramCredentialsResult", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=50
    )
    STRUCTS: ClassVar[Structs] = {"DescribeUserScramCredentialsResult": DescribeUserScramCredentialsResult}
