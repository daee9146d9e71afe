# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class UpdatableFeatureResult(Message):
    __slots__ = (
        "feature",
        "error_code",
        "error_message",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("feature", "string", (0, LAST)),
            Field("error_code", "int16", (0, LAST)),
            Field("error_message", "string", (0, LAST), nullable=(0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        feature: str = '',
        error_code: int = 0,
        error_message: str | None = '',
    ) -> None:
        self.feature: Final = feature
        self.error_code: Final = error_code
        self.error_message: Final = error_message


class UpdateFeaturesResponse(Message):
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
            Field("results", "[]UpdatableFeatureResult", (0, 1)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=57
    )
    STRUCTS: ClassVar[Structs] = {"UpdatableFeatureResult": UpdatableFeatureResult}

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = '',
        results: Sequence[UpdatableFeatureResult] = (),
    ) -> None:
        self.throttle_time_ms: Final = throttle_time_ms
        self.error_code: Final = error_code
        self.error_message: Final = error_message
        self.results: Final = results
