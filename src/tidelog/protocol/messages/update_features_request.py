# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class FeatureUpdateKey(Message):
    __slots__ = (
        "feature",
        "max_version_level",
        "allow_downgrade",
        "upgrade_type",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("feature", "string", (0, LAST)),
            Field("max_version_level", "int16", (0, LAST)),
            Field("allow_downgrade", "bool", (0, 0)),
            Field("upgrade_type", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        feature: str = '',
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
    ) -> None:
        self.feature: Final = feature
        self.max_version_level: Final = max_version_level
        self.allow_downgrade: Final = allow_downgrade
        self.upgrade_type: Final = upgrade_type


class UpdateFeaturesRequest(Message):
    __slots__ = (
        "timeout_ms",
        "feature_updates",
        "validate_only",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("timeout_ms", "int32", (0, LAST)),
            Field("feature_updates", "[]FeatureUpdateKey", (0, LAST)),
            Field("validate_only", "bool", (1, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=57
    )
    STRUCTS: ClassVar[Structs] = {"FeatureUpdateKey": FeatureUpdateKey}

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: Sequence[FeatureUpdateKey] = (),
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms: Final = timeout_ms
        self.feature_updates: Final = feature_updates
        self.validate_only: Final = validate_only
