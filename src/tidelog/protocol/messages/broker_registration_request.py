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


class BrokerRegistrationRequest(Message):
    __slots__ = (
        "broker_id",
        "cluster_id",
        "incarnation_id",
        "listeners",
        "features",
        "rack",
        "is_migrating_zk_broker",
        "log_dirs",
        "previous_broker_epoch",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("cluster_id", "string", (0, LAST)),
            Field("incarnation_id", "uuid", (0, LAST)),
            Field("listeners", "[]Listener", (0, LAST)),
            Field("features", "[]Feature", (0, LAST)),
            Field("rack", "string", (0, LAST), nullable=(0, LAST)),
            Field("is_migrating_zk_broker", "bool", (1, LAST)),
            Field("log_dirs", "[]uuid", (2, LAST)),
            Field("previous_broker_epoch", "int64", (3, LAST)),
        ), valid=(0, 4), flexible=(0, LAST), api_key=62
    )
    STRUCTS: ClassVar[Structs] = {"Listener": Listener, "Feature": Feature}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        cluster_id: str = '',
        incarnation_id: bytes = b'\0' * 16,
        listeners: Sequence[Listener] = (),
        features: Sequence[Feature] = (),
        rack: str | None = '',
        is_migrating_zk_broker: bool = False,
        log_dirs: Sequence[bytes] = (),
        previous_broker_epoch: int = -1,
    ) -> None:
        self.broker_id: Final = broker_id
        self.cluster_id: Final = cluster_id
        self.incarnation_id: Final = incarnation_id
        self.listeners: Final = listeners
        self.features: Final = features
        self.rack: Final = rack
        self.is_migrating_zk_broker: Final = is_migrating_zk_broker
        self.log_dirs: Final = log_dirs
        self.previous_broker_epoch: Final = previous_broker_epoch
