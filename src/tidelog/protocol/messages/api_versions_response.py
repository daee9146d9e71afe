# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersion(Message):
    api_key: int = 0
    min_version: int = 0
    max_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("api_key", "int16", (0, LAST)),
            Field("min_version", "int16", (0, LAST)),
            Field("max_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeatureKey(Message):
    name: str = ''
    min_version: int = 0
    max_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (3, LAST)),
            Field("min_version", "int16", (3, LAST)),
            Field("max_version", "int16", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizedFeatureKey(Message):
    name: str = ''
    max_version_level: int = 0
    min_version_level: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (3, LAST)),
            Field("max_version_level", "int16", (3, LAST)),
            Field("min_version_level", "int16", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(Message):
    error_code: int = 0
    api_keys: Sequence[ApiVersion] = ()
    throttle_time_ms: int = 0
    supported_features: Sequence[SupportedFeatureKey] = ()
    finalized_features_epoch: int = -1
    finalized_features: Sequence[FinalizedFeatureKey] = ()
    zk_migration_ready: bool = False
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("error_code", "int16", (0, LAST)),
            Field("api_keys", "[]ApiVersion", (0, LAST)),
            Field("throttle_time_ms", "int32", (1, LAST)),
            Field("supported_features", "[]SupportedFeatureKey", (3, LAST), tagged=(3, LAST), tag=0, default=()),
            Field("finalized_features_epoch", "int64", (3, LAST), tagged=(3, LAST), tag=1, default=-1),
            Field("finalized_features", "[]FinalizedFeatureKey", (3, LAST), tagged=(3, LAST), tag=2, default=()),
            Field("zk_migration_ready", "bool", (3, LAST), tagged=(3, LAST), tag=3, default=False),
        ), valid=(0, 4), flexible=(3, LAST), api_key=18
    )
    STRUCTS: ClassVar[Structs] = {"ApiVersion": ApiVersion, "SupportedFeatureKey": SupportedFeatureKey, "FinalizedFeatureKey": FinalizedFeatureKey}
