# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class ApiVersion(Message):
    __slots__ = (
        "api_key",
        "min_version",
        "max_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("api_key", "int16", (0, LAST)),
            Field("min_version", "int16", (0, LAST)),
            Field("max_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.api_key: Final = api_key
        self.min_version: Final = min_version
        self.max_version: Final = max_version


class SupportedFeatureKey(Message):
    __slots__ = (
        "name",
        "min_version",
        "max_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (3, LAST)),
            Field("min_version", "int16", (3, LAST)),
            Field("max_version", "int16", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        min_version: int = 0,
        max_version: int = 0,
    ) -> None:
        self.name: Final = name
        self.min_version: Final = min_version
        self.max_version: Final = max_version


class FinalizedFeatureKey(Message):
    __slots__ = (
        "name",
        "max_version_level",
        "min_version_level",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (3, LAST)),
            Field("max_version_level", "int16", (3, LAST)),
            Field("min_version_level", "int16", (3, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        max_version_level: int = 0,
        min_version_level: int = 0,
    ) -> None:
        self.name: Final = name
        self.max_version_level: Final = max_version_level
        self.min_version_level: Final = min_version_level


class ApiVersionsResponse(Message):
    __slots__ = (
        "error_code",
        "api_keys",
        "throttle_time_ms",
        "supported_features",
        "finalized_features_epoch",
        "finalized_features",
        "zk_migration_ready",
    )
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

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: Sequence[ApiVersion] = (),
        throttle_time_ms: int = 0,
        supported_features: Sequence[SupportedFeatureKey] = (),
        finalized_features_epoch: int = -1,
        finalized_features: Sequence[FinalizedFeatureKey] = (),
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code: Final = error_code
        self.api_keys: Final = api_keys
        self.throttle_time_ms: Final = throttle_time_ms
        self.supported_features: Final = supported_features
        self.finalized_features_epoch: Final = finalized_features_epoch
        self.finalized_features: Final = finalized_features
        self.zk_migration_ready: Final = zk_migration_ready
