# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class CredentialInfo(Message):
    __slots__ = (
        "mechanism",
        "iterations",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("mechanism", "int8", (0, LAST)),
            Field("iterations", "int32", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        mechanism: int = 0,
        iterations: int = 0,
    ) -> None:
        self.mechanism: Final = mechanism
        self.iterations: Final = iterations


class DescribeUserScramCredentialsResult(Message):
    __slots__ = (
        "user",
        "error_code",
        "error_message",
        "credential_infos",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("user", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("credential_infos", "[]CredentialInfo", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"CredentialInfo": CredentialInfo}

    def __init__(
        self,
        *,
        user: str = '',
        error_code: int = 0,
        error_message: str | None = '',
        credential_infos: Sequence[CredentialInfo] = (),
    ) -> None:
        self.user: Final = user
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.credential_infos: Final = credential_infos


class DescribeUserScramCredentialsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("throttle_time_ms", "int32", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
            Field("results", "[]DescribeUserScramCredentialsResult", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=50
    )
    STRUCTS: ClassVar[Structs] = {"DescribeUserScramCredentialsResult": DescribeUserScramCredentialsResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        results: Sequence[DescribeUserScramCredentialsResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.results: Final = results
