# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class Listener(Message):
    __slots__ = (
        "name",
        "host",
        "port",
        "security_protocol",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
            Field("security_protocol", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        host: str = '',
        port: int = 0,
        security_protocol: int = 0,
    ) -> None:
        self.name: Final = name
        self.host: Final = host
        self.port: Final = port
        self.security_protocol: Final = security_protocol


class Feature(Message):
    __slots__ = (
        "name",
        "min_supported_version",
        "max_supported_version",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("min_supported_version", "int16", (0, LAST)),
            Field("max_supported_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}

    def __init__(
        self,
        *,
        name: str = '',
        min_supported_version: int = 0,
        max_supported_version: int = 0,
    ) -> None:
        self.name: Final = name
        self.min_supported_version: Final = min_supported_version
        self.max_supported_version: Final = max_supported_version


class ControllerRegistrationRequest(Message):
    __slots__ = (
        "controller_id",
        "incarnation_id",
        "zk_migration_ready",
        "listeners",
        "features",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("controller_id", "int32", (0, LAST)),
            Field("incarnation_id", "uuid", (0, LAST)),
            Field("zk_migration_ready", "bool", (0, LAST)),
            Field("listeners", "[]Listener", (0, LAST)),
            Field("features", "[]Feature", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST), api_key=70
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener, "Feature": Feature}

    def __init__(
        self,
        *,
        controller_id: int = 0,
        incarnation_id: bytes = b'\0' * 16,
        zk_migration_ready: bool = False,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
    ) -> None:
        self.controller_id: Final = controller_id
        self.incarnation_id: Final = incarnation_id
        self.zk_migration_ready: Final = zk_migration_ready
        self.listeners: Final = listeners
        self.features: Final = features
