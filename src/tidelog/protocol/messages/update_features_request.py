# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdateKey(Message):
    feature: str = ''
    max_version_level: int = 0
    allow_downgrade: bool = False
    upgrade_type: int = 1
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("feature", "string", (0, LAST)),
            Field("max_version_level", "int16", (0, LAST)),
            Field("allow_downgrade", "bool", (0, 0)),
            Field("upgrade_type", "int8", (1, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesRequest(Message):
    timeout_ms: int = 60000
    feature_updates: Sequence[FeatureUpdateKey] = ()
    validate_only: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("timeout_ms", "int32", (0, LAST)),
            Field("feature_updates", "[]FeatureUpdateKey", (0, LAST)),
            Field("validate_only", "bool", (1, LAST)),
        ), valid=(0, 2), flexible=(0, LAST), api_key=57
    )
    STRUCTS: ClassVar[Structs] = {"FeatureUpdateKey": FeatureUpdateKey}
