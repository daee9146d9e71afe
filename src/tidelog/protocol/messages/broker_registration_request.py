# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener(Message):
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
class Feature(Message):
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
class BrokerRegistrationRequest(Message):
    broker_id: int = 0
    cluster_id: str = ''
    incarnation_id: bytes = b'\0' * 16
    listeners: Sequence[Listener] = ()
    features: Sequence[Feature] = ()
    rack: str | None = ''
    is_migrating_zk_broker: bool = False
    log_dirs: Sequence[bytes] = ()
    previous_broker_epoch: int = -1
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
