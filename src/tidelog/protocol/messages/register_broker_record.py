# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


class BrokerEndpoint(Message):
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


class BrokerFeature(Message):
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


class RegisterBrokerRecord(Message):
    __slots__ = (
        "broker_id",
        "is_migrating_zk_broker",
        "incarnation_id",
        "broker_epoch",
        "end_points",
        "features",
        "rack",
        "fenced",
        "in_controlled_shutdown",
        "log_dirs",
        "cordoned_log_dirs",
    )
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("broker_id", "int32", (0, LAST)),
            Field("is_migrating_zk_broker", "bool", (2, LAST)),
            Field("incarnation_id", "uuid", (0, LAST)),
            Field("broker_epoch", "int64", (0, LAST)),
            Field("end_points", "[]BrokerEndpoint", (0, LAST)),
            Field("features", "[]BrokerFeature", (0, LAST)),
            Field("rack", "string", (0, LAST), nullable=(0, LAST)),
            Field("fenced", "bool", (0, LAST)),
            Field("in_controlled_shutdown", "bool", (1, LAST)),
            Field("log_dirs", "[]uuid", (3, LAST), tagged=(3, LAST), tag=0, default=()),
            Field("cordoned_log_dirs", "[]uuid", (4, LAST), nullable=(4, LAST), tagged=(4, LAST), tag=1),
        ), valid=(0, 4), flexible=(0, LAST), api_key=0
    )
    STRUCTS: ClassVar[Structs] = {"BrokerEndpoint": BrokerEndpoint, "BrokerFeature": BrokerFeature}

    def __init__(
        self,
        *,
        broker_id: int = 0,
        is_migrating_zk_broker: bool = False,
        incarnation_id: bytes = b'\0' * 16,
        broker_epoch: int = 0,
        end_points: Sequence[BrokerEndpoint] = (),
        features: Sequence[BrokerFeature] = (),
        rack: str | None = '',
        fenced: bool = True,
        in_controlled_shutdown: bool = False,
        log_dirs: Sequence[bytes] = (),
        cordoned_log_dirs: Sequence[bytes] | None = None,
    ) -> None:
        self.broker_id: Final = broker_id
        self.is_migrating_zk_broker: Final = is_migrating_zk_broker
        self.incarnation_id: Final = incarnation_id
        self.broker_epoch: Final = broker_epoch
        self.end_points: Final = end_points
        self.features: Final = features
        self.rack: Final = rack
        self.fenced: Final = fenced
        self.in_controlled_shutdown: Final = in_controlled_shutdown
        self.log_dirs: Final = log_dirs
        self.cordoned_log_dirs: Final = cordoned_log_dirs
