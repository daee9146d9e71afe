# Written by tools/generate_messages.py from Apache Kafka's schemas: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.protocol.schema import Field, LAST, Message, Schema, Structs


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Message):
    name: str = ''
    host: str = ''
    port: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("name", "string", (0, LAST)),
            Field("host", "string", (0, LAST)),
            Field("port", "uint16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KRaftVersionFeature(Message):
    min_supported_version: int = 0
    max_supported_version: int = 0
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("min_supported_version", "int16", (0, LAST)),
            Field("max_supported_version", "int16", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Voter(Message):
    voter_id: int = 0
    voter_directory_id: bytes = b'\0' * 16
    endpoints: Sequence[Endpoint] = ()
    k_raft_version_feature: KRaftVersionFeature = field(default_factory=KRaftVersionFeature)
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("voter_id", "int32", (0, LAST)),
            Field("voter_directory_id", "uuid", (0, LAST)),
            Field("endpoints", "[]Endpoint", (0, LAST)),
            Field("k_raft_version_feature", "KRaftVersionFeature", (0, LAST)),
        )
    )
    STRUCTS: ClassVar[Structs] = {"Endpoint": Endpoint, "KRaftVersionFeature": KRaftVersionFeature}


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersRecord(Message):
    version: int = 0
    voters: Sequence[Voter] = ()
    SCHEMA: ClassVar[Schema] = Schema(
        (
            Field("version", "int16", (0, LAST)),
            Field("voters", "[]Voter", (0, LAST)),
        ), valid=(0, 0), flexible=(0, LAST)
    )
    STRUCTS: ClassVar[Structs] = {"Voter": Voter}
