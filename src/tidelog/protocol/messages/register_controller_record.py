# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpoint(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    security_protocol: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
            Field("security_protocol", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFeature(Message):
    name: str = ''
    min_supported_version: int = 0
    max_supported_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("min_supported_version", "int16", (0, LAST)),
            Field("max_supported_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord(Message):
    controller_id: int = 0
    incarnation_id: bytes = b'\0' * 16
    zk_migration_ready: bool = False
    end_points: Sequence[ControllerEndpoint] = ()
    features: Sequence[ControllerFeature] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("controller_id", "int32", (0, LAST)),
            Field("incarnation_id", "uuid", (0, LAST)),
            Field("zk_migration_ready", "bool", (0, LAST)),
            Field("end_points", "[]ControllerEndpoint", (0, LAST)),
            Field("features", "[]ControllerFeature", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=27
    )
    STRUCTS: ClassVar[Structs] = {"ControllerEndpoint": ControllerEndpoint, "ControllerFeature": ControllerFeature}
